// JSON Schema -> Grammar: the JSON texts whose values a schema admits. What a schema says is
// followed exactly or refused by name; keywords.h is the table. Source: JSON Schema 2020-12 and
// draft 7. Read next: value_set.h.
//
// How values are written: compact, or with a space after "," and ":" or a line break and up to 20
// characters of indentation; properties in the order of the schema, others after them.
#pragma once

#include <memory>
#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "grammar/grammar.h"

namespace puna::grammar {

struct JsonSchemaOptions {
  // An object has no properties but those its schema names, unless the schema says otherwise with
  // additionalProperties; keywords that no draft has are refused.
  bool strict = false;
  Limits limits{};
};

// Errors: kCorrupt with line and column for what is no JSON; kInvalidArgument with the path in the
// schema for what is no schema, for one that no value fulfils and for what is above a limit;
// kUnsupported, likewise, for what is refused.
base::Result<std::shared_ptr<const Grammar>> compile_json_schema_text(
    std::string_view text, const JsonSchemaOptions& options = {});
// The same of a schema that is read already; the limits on bytes and depth are its reader's.
base::Result<std::shared_ptr<const Grammar>> compile_json_schema(
    const base::Json& schema, const JsonSchemaOptions& options = {});

}  // namespace puna::grammar
