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
#include "grammar/json_schema/notation.h"

namespace puna::grammar {

class Languages;

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

// Schemas as rules of a grammar that has more in it, whose limits hold instead of those of the
// options.
class SchemaRules {
 public:
  explicit SchemaRules(Builder& builder);  // which outlives this
  ~SchemaRules();
  SchemaRules(const SchemaRules&) = delete;
  SchemaRules& operator=(const SchemaRules&) = delete;

  // The values that a schema admits. Errors: as above, but that no value fits is found when the
  // grammar is built.
  base::Result<Symbol> write(const base::Json& schema, const JsonSchemaOptions& options,
                             const Notation& notation = {});
  // The objects among them as the arguments of a call. Errors: the same; kUnsupported for a
  // property that is required and whose name cannot be written so.
  base::Result<Symbol> write_arguments(const base::Json& schema, const JsonSchemaOptions& options,
                                       const ArgumentNotation& notation);

 private:
  Builder& builder_;
  std::unique_ptr<Languages> languages_;
};

}  // namespace puna::grammar
