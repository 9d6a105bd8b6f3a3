#include "grammar/json_schema/json_schema.h"

#include <fmt/format.h>

#include "grammar/json_schema/document.h"
#include "grammar/json_schema/reader.h"
#include "grammar/json_schema/writer.h"

namespace puna::grammar {

using base::ErrorCode;
using base::fail;
using base::Json;
using base::Result;

Result<std::shared_ptr<const Grammar>> compile_json_schema_text(std::string_view text,
                                                                const JsonSchemaOptions& options) {
  if (text.size() > options.limits.text_bytes) {
    return over_limit("The bytes of the schema are", options.limits.text_bytes, "text_bytes");
  }
  PUNA_TRY_CONTEXT(const Json schema,
                   Json::parse_strictly(text, static_cast<int>(options.limits.depth)),
                   "While reading a JSON schema");
  return compile_json_schema(schema, options);
}

Result<std::shared_ptr<const Grammar>> compile_json_schema(const Json& schema,
                                                           const JsonSchemaOptions& options) {
  Builder builder(options.limits);
  PUNA_TRY(SchemaDocument document, SchemaDocument::read(schema));
  Languages languages(builder.expressions(), options.limits, builder.deadline());
  SchemaReader reader(document, languages, options, builder.deadline());
  RuleWriter writer(builder, reader);
  const TermId root = reader.terms().schema(schema, options.strict);
  PUNA_TRY(const Symbol start, writer.write(root));
  PUNA_TRY_CONTEXT(auto grammar, std::move(builder).build(start),
                   "While making the grammar of a JSON schema");
  return grammar;
}

}  // namespace puna::grammar
