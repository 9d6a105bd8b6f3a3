#include "api/answer_form.h"

#include <string>

#include "api/answer_fields.h"

namespace puna::api {

using base::ErrorCode;
using base::Json;
using base::Result;
using service::AnswerForm;

namespace {

using Kind = Field::Kind;

constexpr Field kSchema[] = {
    {"name", Kind::kText, "What it is called; nobody here asks."},
    {"description", Kind::kText, "What it is for; nobody here asks."},
    {"schema", Kind::kAny, "The schema."},
    Field{"strict", Kind::kFlag, "Objects have no members but those that the schema names."}
        .or_else("false"),
};
constexpr Field kFormat[] = {
    Field{"type", Kind::kText, "json_object: any JSON object."}.needed().one_of(
        "text|json_object|json_schema"),
    Field{"json_schema", Kind::kObject, "Of the type json_schema: what the answer is."}.with(
        [] { return std::span<const Field>(kSchema); }),
    {"schema", Kind::kAny, "The same, beside the type."},
    {"name", Kind::kText, "Beside it; nobody here asks."},
    {"description", Kind::kText, "Beside it; nobody here asks."},
    Field{"strict", Kind::kFlag, "Beside it, as in json_schema."}.or_else("false"),
};

}  // namespace

std::span<const Field> format_fields() { return kFormat; }

AnswerForm any_object() { return of_schema(Json::object().set("type", "object"), false); }

AnswerForm of_schema(const Json& schema, bool strict) {
  return {.kind = AnswerForm::Kind::kSchema, .text = schema.dump(), .strict = strict};
}

Result<std::optional<AnswerForm>> read_format(std::string_view field, const Json& format) {
  if (!format.is_object()) return refuse_field(field, format, "an object");
  PUNA_TRY(const Body body, Body::read(format, {kFormat}));
  const auto type = body.text("type");
  if (!type) return refuse_field("type", Json(), "text, json_object or json_schema");
  const Json* schema = body.find("schema");
  bool strict = body.flag("strict").value_or(false);
  if (const Json* named = body.find("json_schema")) {
    PUNA_TRY(const Body inner, Body::read(*named, {kSchema}));
    if (const Json* own = inner.find("schema")) schema = own;
    strict = strict || inner.flag("strict").value_or(false);
  }
  if (type == "text") return std::nullopt;
  if (schema) return of_schema(*schema, strict);
  if (type == "json_object") return any_object();
  return base::fail(ErrorCode::kInvalidArgument, "The field \"" + std::string(field) +
                                                     "\" is of the type json_schema, but has "
                                                     "no \"schema\".");
}

Result<std::optional<AnswerForm>> read_form(const Body& body) {
  std::optional<AnswerForm> out;
  std::string_view given;
  const auto take = [&](std::string_view field, AnswerForm form) -> Result<void> {
    if (out) {
      return base::fail(ErrorCode::kInvalidArgument,
                        "The fields \"" + std::string(given) + "\" and \"" + std::string(field) +
                            "\" both say what the answer is; one of them may be given.");
    }
    given = field;
    out = std::move(form);
    return {};
  };
  if (const auto grammar = body.text("grammar"); grammar && !grammar->empty())
    PUNA_TRY(take("grammar", {.kind = AnswerForm::Kind::kGrammar, .text = *grammar}));
  if (const Json* schema = body.find("json_schema"))
    PUNA_TRY(take("json_schema", of_schema(*schema, false)));
  if (const Json* format = body.find("response_format")) {
    PUNA_TRY(auto form, read_format("response_format", *format));
    if (form) PUNA_TRY(take("response_format", *std::move(form)));
  }
  return out;
}

}  // namespace puna::api
