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
  PUNA_TRY(const Symbol start, SchemaRules(builder).write(schema, options));
  PUNA_TRY_CONTEXT(auto grammar, std::move(builder).build(start),
                   "While making the grammar of a JSON schema");
  return grammar;
}

SchemaRules::SchemaRules(Builder& builder)
    : builder_(builder),
      languages_(std::make_unique<Languages>(builder.expressions(), builder.limits(),
                                             builder.deadline())) {}
SchemaRules::~SchemaRules() = default;

Result<Symbol> SchemaRules::write(const Json& schema, const JsonSchemaOptions& options,
                                  const Notation& notation) {
  PUNA_TRY(SchemaDocument document, SchemaDocument::read(schema));
  SchemaReader reader(document, *languages_, options, builder_.deadline());
  return RuleWriter(builder_, reader, notation)
      .write(reader.terms().schema(schema, options.strict));
}

Result<Symbol> SchemaRules::write_arguments(const Json& schema, const JsonSchemaOptions& options,
                                            const ArgumentNotation& notation) {
  PUNA_TRY(SchemaDocument document, SchemaDocument::read(schema));
  SchemaReader reader(document, *languages_, options, builder_.deadline());
  return RuleWriter(builder_, reader, notation.values)
      .write_arguments(reader.terms().schema(schema, options.strict), notation);
}

}  // namespace puna::grammar
