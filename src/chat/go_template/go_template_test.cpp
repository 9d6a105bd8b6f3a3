#include "chat/go_template.h"

#include <doctest/doctest.h>

#include <ctime>
#include <fstream>
#include <sstream>
#include <string>

#include "chat/messages.h"
#include "chat/parsers.h"

namespace puna::chat {
namespace {

const std::string kFolder = "tests/fixtures/go_templates/";

std::string read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  REQUIRE_MESSAGE(file.good(), path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

base::Json read_json(const std::string& name) {
  auto json = base::Json::parse(read(kFolder + name));
  REQUIRE(json.has_value());
  return *std::move(json);
}

base::Json json(std::string_view text) { return base::Json::parse(text).value(); }

base::Result<std::string> render(std::string_view go, const base::Json& context,
                                 int64_t now_s = 0) {
  PUNA_TRY(std::string jinja, from_go_template(go));
  PUNA_TRY(const Template parsed, Template::parse(std::move(jinja)));
  return parsed.render(context, {.now_s = now_s});
}

// The Jinja of a template that has to be one.
std::string translated(std::string_view go) {
  auto jinja = from_go_template(go);
  REQUIRE_MESSAGE(jinja.has_value(), jinja.error().text());
  return *std::move(jinja);
}

std::string rendered(std::string_view go, std::string_view context) {
  const auto text = render(go, json(context));
  REQUIRE_MESSAGE(text.has_value(), text.error().text());
  return *text;
}

std::string refusal(std::string_view go) {
  const auto jinja = from_go_template(go);
  REQUIRE_FALSE(jinja.has_value());
  return jinja.error().message;
}

// tools/compare_go_templates.py writes what ollama's own package made of these.
TEST_CASE("templates in the style of each family render as with ollama") {
  const base::Json conversations = read_json("conversations.json");
  const base::Json expected_texts = read_json("expected.json");
  int n_texts = 0;
  for (const auto& [name, texts] : expected_texts.members()) {
    std::string go = read(kFolder + name + ".gotmpl");
    go.pop_back();  // the newline at the end of the file
    const auto jinja = from_go_template(go);
    REQUIRE_MESSAGE(jinja.has_value(), name, ": ", jinja.error().text());
    const auto parsed = Template::parse(*jinja);
    REQUIRE(parsed.has_value());
    for (const auto& [conversation, expected] : texts.members()) {
      CAPTURE(name);
      CAPTURE(conversation);
      const auto text = parsed->render(*conversations.find(conversation));
      REQUIRE(text.has_value() == expected.is_string());
      if (text) CHECK(*text == expected.string());
      ++n_texts;
    }
  }
  CHECK(n_texts > 190);
}

TEST_CASE(
    "the parts of the language do what they do with ollama, in what works and in what fails") {
  const base::Json conversations = read_json("conversations.json");
  const base::Json cases = read_json("language.json");
  CHECK(cases.items().size() > 290);
  for (const base::Json& each : cases.items()) {
    const std::string& go = each.find("template")->string();
    CAPTURE(go);
    const auto text = render(go, *conversations.find(each.find("conversation")->string()));
    if (each.find("fails")) {
      REQUIRE_FALSE(text.has_value());
      CHECK(text.error().message.starts_with("Line "));
    } else {
      REQUIRE_MESSAGE(text.has_value(), text.error().text());
      CHECK(*text == each.find("expected")->string());
    }
  }
}

TEST_CASE("the translation shows the marks of its family, so its replies are parsed") {
  struct Row {
    std::string_view name, style;
  };
  constexpr Row kRows[] = {{"qwen", "hermes"},     {"llama3", "llama3"},   {"mistral", "mistral"},
                           {"gpt-oss", "gpt-oss"}, {"granite", "granite"}, {"phi", "phi4"},
                           {"gemma", "plain"}};
  for (const Row& row : kRows) {
    CAPTURE(row.name);
    const std::string go = read(kFolder + std::string(row.name) + ".gotmpl");
    CHECK(reply_style(translated(go)).name == row.style);
  }
}

TEST_CASE("dates are those of the clock, in local time") {
  std::tm when{};
  when.tm_year = 2026 - 1900;
  when.tm_mon = 2;
  when.tm_mday = 1;
  when.tm_hour = 12;
  when.tm_isdst = -1;
  const auto text =
      render("{{ currentDate }} {{ yesterdayDate }} {{ currentDate \"x\" }}.{{ .Prompt }}",
             json(R"({"messages": [{"role": "user", "content": ""}]})"), std::mktime(&when));
  CHECK(text.value() == "2026-03-01 2026-02-28 2026-03-01.");
}

TEST_CASE(
    "what ollama loses stays: an unanswered question, calls of one role, keywords of schemas") {
  CHECK(rendered("{{ .Prompt }}>{{ .Response }};",
                 R"({"messages": [{"role": "user", "content": "a"}, {"role": "assistant"},
                     {"role": "user", "content": "b"}]})") == "a>;b>");
  CHECK(rendered("{{ range .Messages }}{{ .Content }}{{ .Thinking }}{{ range .ToolCalls }}"
                 "{{ .Function.Name }}{{ .Function.Arguments }}{{ end }};{{ end }}",
                 R"({"messages": [{"role": "assistant", "content": "a", "thinking": "t"},
                     {"role": "assistant", "content": "b", "reasoning_content": "u",
                      "tool_calls": [{"function": {"name": "f", "arguments": "{\"x\": 1}"}}]}]})") ==
        "a\n\nbt\n\nuf{\"x\":1};");
  CHECK(
      rendered("{{ .Tools }}{{ len .Messages }}",
               R"({"messages": [], "tools": [{"type": "function", "function": {"strict": true,
                     "name": "f", "parameters": {"additionalProperties": false, "type": "object",
                     "properties": {"x": {"maximum": 1, "type": "integer"}}}}}]})") ==
      R"([{"type":"function","function":{"name":"f","description":"","parameters":{"type":"object",)"
      R"("properties":{"x":{"type":"integer","maximum":1}},"additionalProperties":false},)"
      R"("strict":true}}]0)");
}

TEST_CASE("tools and their functions are JSON, and whole numbers stay whole") {
  CHECK(
      rendered("{{ range .Tools }}{{ . }}{{ .Function }}{{ end }}{{ len .Messages }}",
               R"({"messages": [], "tools": [{"type": "function", "function": {"name": "f"}}]})") ==
      R"({"type":"function","function":{"name":"f","description":"","parameters":{"type":"",)"
      R"("properties":null}}}{"name":"f","description":"","parameters":{"type":"","properties":null}}0)");
  CHECK(
      rendered("{{ range .Messages }}{{ range .ToolCalls }}{{ range .Function.Arguments }}{{ . }} "
               "{{ json . }};{{ end }}{{ end }}{{ end }}",
               R"({"messages": [{"role": "assistant", "tool_calls": [{"function": {"name": "f",
                     "arguments": {"a": 12345678, "b": 1234567.5, "c": 1.0}}}]}]})") ==
      "12345678 12345678;1.2345675e+06 1234567.5;1 1;");
}

TEST_CASE("the parts of a message that are text are joined, and others are refused") {
  CHECK(rendered("{{ .Prompt }}", R"({"messages": [{"role": "user", "content": [
      {"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}]})") == "ab");
  const auto image = render("{{ .Prompt }}", json(R"({"messages": [{"role": "user",
      "content": [{"type": "image"}]}]})"));
  REQUIRE_FALSE(image.has_value());
  CHECK(image.error().message.find("part that is no text") != std::string::npos);
}

TEST_CASE("a conversation of another form is an error") {
  for (const char* context : {R"({"messages": 1})", R"({"messages": [1]})",
                              R"({"messages": [{"role": "user", "content": 1}]})",
                              R"({"messages": [{"role": "tool", "content": "x"}]})",
                              R"({"messages": [{"role": "assistant", "tool_calls": 1}]})",
                              R"({"messages": [{"role": "assistant", "tool_calls":
                                  [{"function": {"name": "f", "arguments": "["}}]}]})"}) {
    CAPTURE(context);
    CHECK_FALSE(render("{{ .Prompt }}", json(context)).has_value());
  }
  CHECK_FALSE(render("{{ .Tools }}{{ .Messages | len }}", json(R"({"messages": [], "tools": 1})")));
}

TEST_CASE("errors say the line and what is wrong there") {
  CHECK(refusal("a\n\n{{ foo }}") == "Line 3: there is no function \"foo\".");
  CHECK(refusal("{{ range .Messages }}\n{{ .Foo }}{{ end }}") ==
        "Line 2: a message has no field .Foo.");
  CHECK(refusal("{{/* a\nb */}}\n{{ $x }}") == "Line 3: there is no variable $x.");
  CHECK(refusal("{{ if true }}\n\n") == "Line 1: a block does not end: no {{end}} follows.");
  CHECK(refusal("\n{{ .System") == "Line 2: an action does not end: no }} follows.");
  CHECK(refusal("\n{{ template \"x\" }}") == "Line 2: there is no template \"x\".");
  CHECK(refusal("{{ $x := 1 }}\n{{ $x = .System }}") ==
        "Line 2: $x is an integer and is set to a string.");
  CHECK(refusal("{{ .Messages }}") ==
        "Line 1: the messages has no text form that a prompt could want.");
}

TEST_CASE("a template cannot grow or nest without end") {
  std::string deep;
  for (int i = 0; i < 100'000; ++i) deep += "{{ if true }}";
  CHECK(refusal(deep).find("nest deeper than 40") != std::string::npos);
  std::string brackets = "{{ ";
  for (int i = 0; i < 100'000; ++i) brackets += "(not ";
  brackets += "}}";
  CHECK(refusal(brackets).find("nest deeper than 40") != std::string::npos);
  std::string doubled;
  for (int i = 0; i < 19; ++i) {
    doubled += "{{ define \"t" + std::to_string(i) + "\" }}{{ template \"t" +
               std::to_string(i + 1) + "\" . }}{{ template \"t" + std::to_string(i + 1) +
               "\" . }}{{ end }}";
  }
  CHECK(refusal(doubled + "{{ define \"t19\" }}xxxxx{{ end }}{{ template \"t0\" . }}")
            .find("larger than 1048576 bytes") != std::string::npos);
  CHECK(refusal("{{ define \"a\" }}{{ template \"a\" . }}{{ end }}{{ template \"a\" . }}")
            .find("more than 20 templates call each other") != std::string::npos);
  std::string variables;
  for (int i = 0; i <= 1000; ++i) variables += "{{ $x := 1 }}";
  CHECK(refusal(variables).find("more than 1000 variables") != std::string::npos);
  // A long chain of else if is none of these.
  std::string chain = "{{ if false }}";
  for (int i = 0; i < 30; ++i) chain += "{{ else if eq .Prompt \"" + std::to_string(i) + "\" }}x";
  CHECK(from_go_template(chain + "{{ end }}").has_value());
}

}  // namespace
}  // namespace puna::chat
