#include "api/answer_form.h"

#include <string>
#include <unordered_set>

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

constexpr Field kTrigger[] = {
    Field{"type", Kind::kAny,
          "As llama.cpp numbers them: 0 token, 1 word, 2 pattern, "
          "3 pattern_full, which matches the answer up to there."}
        .needed()
        .shaped(R"(["integer", "=token|word|pattern|pattern_full"])"),
    {"value", Kind::kText, "The text of a token, a word, or a regular expression."},
    {"token", Kind::kInteger, "Of a token without a value: its id.", 0, UINT32_MAX},
};
constexpr std::string_view kTriggerTypes[] = {"token", "word", "pattern", "pattern_full"};

// Whether a token is a control token, whose text is not part of texts.
bool is_control(const tokenizer::Tokenizer& tokenizer, int32_t id) {
  return tokenizer.bytes(id).empty() && !tokenizer.bytes(id, /*special=*/true).empty();
}

// The place in kTriggerTypes.
Result<size_t> read_trigger_type(const Json* type) {
  for (size_t i = 0; type && i < std::size(kTriggerTypes); ++i) {
    const bool is_number = type->is_number() && type->number() == static_cast<double>(i);
    if (is_number || *type == Json(kTriggerTypes[i])) return i;
  }
  return refuse_field("type", type ? *type : Json(),
                      "0 (token), 1 (word), 2 (pattern) or 3 (pattern_full)");
}

Result<grammar::Trigger> read_trigger(const Json& json, const service::LoadedModel& model) {
  using Trigger = grammar::Trigger;
  if (!json.is_object()) return refuse_field("grammar_triggers", json, "a list of objects");
  PUNA_TRY(const Body body, Body::read(json, {kTrigger}));
  PUNA_TRY(const size_t type, read_trigger_type(body.find("type")));
  constexpr Trigger::Kind kKinds[] = {Trigger::Kind::kText, Trigger::Kind::kText,
                                      Trigger::Kind::kPattern, Trigger::Kind::kPatternFull};
  Trigger out{.kind = kKinds[type], .text = body.text("value").value_or("")};
  const auto id = body.integer("token");
  if (type == 0 && out.text.empty() && id && model.tokenizer && *id < model.tokenizer->n_tokens())
    out.text = model.tokenizer->bytes(static_cast<int32_t>(*id), /*special=*/true);
  if (out.text.empty()) return refuse_field("value", Json(out.text), "a text that is not empty");
  return out;
}

Result<void> read_lazy(const Body& body, const service::LoadedModel& model, AnswerForm& form) {
  if (!body.flag("grammar_lazy").value_or(false)) return {};
  const Json* triggers = body.find("grammar_triggers");
  if (!triggers || triggers->items().empty()) {
    return base::fail(ErrorCode::kInvalidArgument,
                      "The field \"grammar_lazy\" is true, but \"grammar_triggers\" has nothing "
                      "that the grammar would begin at.");
  }
  for (const Json& each : triggers->items()) {
    PUNA_TRY(form.triggers.emplace_back(), read_trigger(each, model));
  }
  return {};
}

}  // namespace

std::span<const Field> trigger_fields() { return kTrigger; }

Result<std::vector<std::string>> read_preserved(const Body& body,
                                                const service::LoadedModel& model) {
  std::vector<std::string> out;
  std::unordered_set<int32_t> known;
  for (std::string& mark : body.texts("preserved_tokens")) {
    if (!model.tokenizer) break;
    const std::vector<int32_t> ids = model.tokenizer->encode(mark, {.add_special = false});
    const bool is_one = ids.size() == 1 && is_control(*model.tokenizer, ids[0]);
    if (is_one && known.insert(ids[0]).second) out.push_back(std::move(mark));
  }
  return out;
}

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

Result<std::optional<AnswerForm>> read_form(const Body& body, const service::LoadedModel& model,
                                            std::span<const std::string> preserved) {
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
  if (const auto grammar = body.text("grammar"); grammar && !grammar->empty()) {
    AnswerForm form{.kind = AnswerForm::Kind::kGrammar,
                    .text = *grammar,
                    .controls = {preserved.begin(), preserved.end()}};
    PUNA_TRY(read_lazy(body, model, form));
    PUNA_TRY(take("grammar", std::move(form)));
  } else if (body.flag("grammar_lazy").value_or(false)) {
    return base::fail(ErrorCode::kInvalidArgument,
                      "The field \"grammar_lazy\" is true, but there is no \"grammar\".");
  }
  if (const Json* schema = body.find("json_schema"))
    PUNA_TRY(take("json_schema", of_schema(*schema, false)));
  if (const Json* format = body.find("response_format")) {
    PUNA_TRY(auto form, read_format("response_format", *format));
    if (form) PUNA_TRY(take("response_format", *std::move(form)));
  }
  return out;
}

}  // namespace puna::api
