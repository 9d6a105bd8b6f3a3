// Answers that may or must call tools: what a grammar lets pass, the family's parser reads as calls
// of tools that there are, with arguments that fit.
#include "service/call_grammar.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "grammar/json_schema/json_schema.h"
#include "service/answer_form.h"
#include "service/prepare.h"
#include "service/testing/call_walks.h"
#include "service/testing/scripted_model.h"

namespace puna::service {
namespace {

using base::Json;

const Json& tools() {
  static const Json kTools = *Json::parse(R"([
    {"type": "function", "function": {"name": "get_weather", "parameters": {"type": "object",
      "properties": {"city": {"type": "string"}, "days": {"type": "integer", "minimum": 1,
      "maximum": 31}, "unit": {"enum": ["c", "f"]}, "at": {"type": "number"}},
      "required": ["city"], "additionalProperties": false}}},
    {"type": "function", "function": {"name": "now"}},
    {"type": "function", "function": {"name": "set", "strict": true, "parameters": {
      "type": "object", "properties": {
        "config": {"type": "object", "additionalProperties": {"type": ["integer", "boolean"]}},
        "on": {"type": "boolean"}, "note": {"type": ["string", "null"]}, "any": {},
        "tags": {"type": "array", "items": {"type": "string", "maxLength": 40}, "maxItems": 3},
        "either": {"anyOf": [{"type": "integer"}, {"$ref": "#/properties/config"}]}},
      "required": ["on", "note"]}}}])");
  return kTools;
}

// The schema of a tool's parameters as a validator.
std::shared_ptr<const grammar::Grammar> validator(const std::string& name) {
  for (const Json& tool : tools().items()) {
    const Json& function = chat::function_of(tool);
    if (*function.find("name") != Json(name)) continue;
    const Json* parameters = function.find("parameters");
    const auto made = grammar::compile_json_schema_text(
        parameters ? parameters->dump() : R"({"type": "object", "maxProperties": 0})",
        {.strict = function.find("strict") != nullptr, .limits = {.compile_ms = 0}});
    REQUIRE(made.has_value());
    return *made;
  }
  return nullptr;
}

struct Case {
  const char* what;
  ToolChoice choice;
  bool has_form = false;
};
const Case kCases[] = {
    {"auto", {}},
    {"auto, one call", {.one_call = true}},
    {"required", {.required = true}},
    {"by name", {.required = true, .one_call = true, .names = {"set"}}},
    {"calls or a form", {}, true},
};

std::vector<const chat::ReplyStyle*> calling_styles() {
  std::vector<const chat::ReplyStyle*> out;
  for (const chat::ReplyStyle& style : chat::reply_styles()) {
    if (style.frame) out.push_back(&style);
  }
  return out;
}

std::shared_ptr<engine::TokenFilter> filter_of(AnswerForms& forms, const CallRules& rules) {
  auto made = forms.filter(rules);
  REQUIRE_MESSAGE(made.has_value(), made.error().text());
  return *made;
}

chat::ParsedReply parsed(const chat::ReplyStyle& style, const std::string& text,
                         bool thinking_open) {
  const auto parser = style.make_parser(
      {.tools = tools(), .thinking_open = thinking_open, .stream_arguments = false});
  parser->feed(text);
  parser->finish();
  return parser->reply();
}

void check_calls(const chat::ParsedReply& reply, const ToolChoice& choice) {
  for (const chat::ToolCall& call : reply.tool_calls) {
    const auto fits = validator(call.name);
    REQUIRE_MESSAGE(fits, call.name);
    const auto arguments = Json::parse(call.arguments);
    REQUIRE_MESSAGE(arguments.has_value(), call.arguments);
    // Arguments that were JSON are checked as they stand.
    const bool is_valid =
        grammar::accepts(fits, call.arguments) || grammar::accepts(fits, arguments->dump());
    CHECK_MESSAGE(is_valid, call.name << call.arguments);
    if (!choice.names.empty()) CHECK(call.name == choice.names.front());
  }
  if (choice.one_call) CHECK(reply.tool_calls.size() <= 1);
}

TEST_CASE("what is allowed is read as calls of tools that there are, with fitting arguments") {
  std::mt19937 random(30);
  size_t n_styles = 0, n_calls = 0;
  for (const chat::ReplyStyle* style : calling_styles()) {
    ++n_styles;
    size_t n_ended = 0;
    for (const bool controls : {true, false}) {
      const auto tokenizer = test::tokenizer_for(*style, controls);
      AnswerForms forms(*tokenizer, static_cast<uint32_t>(tokenizer->n_tokens()));
      for (size_t i = 0; i < std::size(kCases); ++i) {
        // Each style has some of the cases with control tokens and some without.
        if ((i + n_styles + (controls ? 2 : 0)) % 4 != 0) continue;
        const Case& each = kCases[i];
        const bool thinking_open = !style->think_open.empty() && random() % 2 == 0;
        std::optional<AnswerForm> form;
        if (each.has_form) form = AnswerForm{.kind = AnswerForm::Kind::kRegex, .text = "[0-9]{2}"};
        for (int n = 0; n < 4; ++n) {
          const auto filter = filter_of(forms, {.style = *style,
                                                .tools = tools(),
                                                .choice = each.choice,
                                                .form = form,
                                                .thinking_open = thinking_open,
                                                .limits = grammar::Limits{.compile_ms = 0}});
          const test::Walk walk = test::walk(*filter, *tokenizer, *style, random, 40);
          CAPTURE(style->name);
          CAPTURE(std::string(each.what));
          CAPTURE(Json(walk.text).dump());
          if (!walk.ended) continue;
          ++n_ended;
          const chat::ParsedReply reply = parsed(*style, walk.text, thinking_open);
          check_calls(reply, each.choice);
          n_calls += reply.tool_calls.size();
          if (each.choice.required) {
            CHECK(reply.tool_calls.size() >= 1);
            CHECK(reply.content.empty());
          }
          if (form) {
            const bool is_form = reply.tool_calls.empty();
            CHECK(reply.content.size() == (is_form ? 2 : 0));
          }
        }
      }
    }
    CAPTURE(style->name);
    CHECK(n_ended > 4);
  }
  CHECK(n_calls > 50);
}

// Of the style "hermes", whose marks are characters here.
std::shared_ptr<const grammar::Grammar> hermes(const ToolChoice& choice, const Json& offered,
                                               const std::optional<AnswerForm>& form = {}) {
  const chat::ReplyStyle& style = chat::reply_style("<tool_call>");
  const auto tokenizer = test::tokenizer_for(style, /*controls=*/false);
  const auto made = compile_calls({.style = style,
                                   .tools = offered,
                                   .choice = choice,
                                   .form = form,
                                   .limits = grammar::Limits{.compile_ms = 0}},
                                  *tokenizer);
  REQUIRE_MESSAGE(made.has_value(), made.error().text());
  return *made;
}

TEST_CASE("an answer is free until it calls, and calls as its request says") {
  const std::string now = "<tool_call>{\"name\": \"now\", \"arguments\": {}}</tool_call>";
  const std::string other = "<tool_call>{\"name\": \"then\", \"arguments\": {}}</tool_call>";
  const auto free = hermes({}, tools());
  for (const std::string& text :
       {std::string(), std::string("Well, <tool"), now, "Sure. " + now + "\n" + now + " Done.",
        "<think>" + other + "</think>\n" + now, std::string("<think>Hm")})
    CHECK_MESSAGE(grammar::accepts(free, text), text);
  for (const std::string& text : {std::string("<tool_call>"), other, now + other, "Sure. " + other})
    CHECK_MESSAGE(!grammar::accepts(free, text), text);
  const auto one = hermes({.one_call = true}, tools());
  CHECK(grammar::accepts(one, "Sure. " + now));
  CHECK(grammar::accepts(one, "Sure."));
  CHECK_FALSE(grammar::accepts_prefix(one, now + " "));
  const auto required = hermes({.required = true}, tools());
  CHECK(grammar::accepts(required, now + now));
  CHECK(grammar::accepts(required, "<think>Hm</think>\n\n" + now + "\n" + now));
  for (const std::string& text :
       {std::string(), std::string("Sure."), "Sure. " + now, now + "Done"})
    CHECK_MESSAGE(!grammar::accepts(required, text), text);
  const auto named = hermes({.required = true, .one_call = true, .names = {"set"}}, tools());
  CHECK_FALSE(grammar::accepts_prefix(named, "<tool_call>{\"name\": \"n"));
  CHECK(grammar::accepts_prefix(named, "<tool_call>{\"name\": \"set\""));
  const auto formed =
      hermes({}, tools(), AnswerForm{.kind = AnswerForm::Kind::kRegex, .text = "a+"});
  CHECK(grammar::accepts(formed, "aaa"));
  CHECK(grammar::accepts(formed, now));
  CHECK_FALSE(grammar::accepts_prefix(formed, "aaa<"));
}

TEST_CASE("every family can write a text that a tool requires") {
  const auto parsed = base::Json::parse(R"([{"type": "function", "function": {"name": "note",
      "parameters": {"type": "object", "properties": {"body": {"type": "string", "minLength": 1}},
                     "required": ["body"]}}}])");
  REQUIRE(parsed.has_value());
  const std::optional<AnswerForm> no_form;
  for (const chat::ReplyStyle* style : calling_styles()) {
    for (const bool controls : {false, true}) {
      CAPTURE(style->name);
      CAPTURE(controls);
      const auto tokenizer = test::tokenizer_for(*style, controls);
      const auto compiled = compile_calls({.style = *style,
                                           .tools = *parsed,
                                           .choice = {.required = true},
                                           .form = no_form,
                                           .limits = grammar::Limits{.compile_ms = 0}},
                                          *tokenizer);
      CHECK_MESSAGE(compiled.has_value(), (compiled ? std::string() : compiled.error().text()));
    }
  }
}

// So that the engine chooses such tokens in long chains (engine/scheduler.h).
TEST_CASE("while a text is free, what is allowed stays the same") {
  constexpr std::string_view kText = "The weather is fine today: 12 degrees, and (rarely) wind.";
  const std::optional<AnswerForm> no_form;
  for (const chat::ReplyStyle* style : calling_styles()) {
    CAPTURE(style->name);
    const auto tokenizer = test::tokenizer_for(*style, /*controls=*/true);
    AnswerForms forms(*tokenizer, static_cast<uint32_t>(tokenizer->n_tokens()));
    for (const bool thinking_open : {false, !style->think_open.empty()}) {
      const auto filter = filter_of(forms, {.style = *style,
                                            .tools = tools(),
                                            .choice = {},
                                            .form = no_form,
                                            .thinking_open = thinking_open,
                                            .limits = grammar::Limits{.compile_ms = 0}});
      std::vector<uint32_t> before;
      size_t n_changes = 0;
      for (const int32_t id : tokenizer->encode(kText, {.add_special = false})) {
        REQUIRE(filter->forced().empty());
        const auto bits = *filter->allowed();
        n_changes += std::ranges::equal(bits, before) ? 0 : 1;
        before.assign(bits.begin(), bits.end());
        filter->take(id);
      }
      CHECK(n_changes <= 3);  // at the beginning, where some calls have to begin
    }
  }
}

TEST_CASE("tools that cannot be called are refused with their name and the place") {
  const auto refused = [](const char* style_name, const char* offered,
                          const ToolChoice& choice = {}) {
    const auto& styles = chat::reply_styles();
    const auto style = std::ranges::find(styles, style_name, &chat::ReplyStyle::name);
    const auto tokenizer = test::tokenizer_for(*style, /*controls=*/true);
    const auto made = compile_calls({.style = *style,
                                     .tools = *Json::parse(offered),
                                     .choice = choice,
                                     .form = std::nullopt,
                                     .limits = grammar::Limits{.compile_ms = 0}},
                                    *tokenizer);
    REQUIRE_FALSE(made.has_value());
    return made.error().text();
  };
  CHECK(refused("hermes", R"([{"function": {"name": "f", "parameters": {"type": "object",
            "properties": {"a": {"type": "thing"}}}}}])")
            .starts_with("#/properties/a: \"type\" is \"thing\""));
  CHECK(refused("hermes", R"([{"function": {"name": "f", "parameters": {"pattern": "x(?=a)b"}}}])")
            .ends_with("- While reading the parameters of the tool \"f\""));
  CHECK(refused("hermes", R"([{"function": {"name": "f"}},
            {"function": {"name": "g", "parameters": {"type": "string"}}}])") ==
        "The parameters of the tool \"g\" admit no object that the model can write.");
  CHECK(refused("lfm2", R"([{"function": {"name": "a tool"}}])") ==
        "The model writes calls as <|tool_call_start|>[f(a=\"x\", b=1)]<|tool_call_end|>, where no "
        "tool can have the name \"a tool\".");
  CHECK(refused("lfm2", R"([{"function": {"name": "f", "parameters": {"required": ["a b"]}}}])")
            .starts_with("#: the property \"a b\" is required"));
  CHECK(refused("hermes", R"([{"function": {"name": "f"}}])", {.names = {"g", "h"}}) ==
        "No tool has the name \"g\" or \"h\".");
}

TEST_CASE("a model with known calls may be made to call, others and those without tools may not") {
  const auto prepared = [](const char* chat_template, bool offers, ToolChoice choice) {
    static std::vector<LoadedModel> models;
    models.push_back(test::scripted_model(chat_template));
    Request request;
    request.messages = {{.role = "user", .content = "Hi"}};
    if (offers) request.tools = tools();
    request.tool_choice = std::move(choice);
    return prepare(models.back(), std::move(request));
  };
  constexpr const char* kHermes = "{{ tools }}<tool_call><|go|>";
  constexpr const char* kUnknown = "{{ tools }}<|go|>";
  CHECK(prepared(kHermes, true, {})->filter);
  CHECK(prepared(kHermes, true, {.required = true})->filter);
  CHECK_FALSE(prepared(kHermes, false, {})->filter);
  CHECK_FALSE(prepared(kUnknown, true, {})->filter);
  CHECK(prepared(kUnknown, true, {.required = true}).error().message ==
        "It is not known how scripted writes calls, so none can be required.");
  CHECK(prepared(kHermes, false, {.required = true}).error().message ==
        "A call is required, but there are no tools that could be called.");
  CHECK(prepared("<tool_call><|go|>", true, {}).error().message ==
        "The chat template of scripted shows the model no tools; leave them out.");
}

TEST_CASE("a style without thinking has another grammar") {
  chat::ReplyStyle style = chat::reply_style("<tool_call>");
  const auto tokenizer = test::tokenizer_for(style, /*controls=*/false);
  AnswerForms forms(*tokenizer, static_cast<uint32_t>(tokenizer->n_tokens()));
  const ToolChoice required{.required = true};
  const std::optional<AnswerForm> no_form;
  const auto writes = [&](const std::string& text) {
    const auto filter = filter_of(forms, {.style = style,
                                          .tools = tools(),
                                          .choice = required,
                                          .form = no_form,
                                          .limits = grammar::Limits{.compile_ms = 0}});
    return std::ranges::all_of(text, [&](char byte) {
      const auto bits = *filter->allowed();
      for (int32_t id = 0; id < tokenizer->n_tokens(); ++id) {
        const auto at = static_cast<size_t>(id);
        const bool fits = tokenizer->bytes(id) == std::string(1, byte);
        if (!fits || (bits[at / 32] >> at % 32 & 1) == 0) continue;
        filter->take(id);
        return true;
      }
      return false;
    });
  };
  CHECK(writes("<th"));
  style.thinking = {};
  CHECK_FALSE(writes("<th"));
  CHECK(writes("<to"));
}

}  // namespace
}  // namespace puna::service
