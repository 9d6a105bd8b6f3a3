// The cases of tests/fixtures/chat/, whose outcomes Python's jinja2 gave
// (tools/compare_templates.py).
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <ctime>
#include <fstream>
#include <optional>
#include <sstream>

#include "chat/parsers.h"
#include "chat/template.h"

namespace puna::chat {
namespace {

constexpr const char* kFolder = "tests/fixtures/chat/";

std::optional<std::string> read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// The moment that the fixtures were made for, in local time.
int64_t fixture_time() {
  std::tm when{};
  when.tm_year = 2026 - 1900;
  when.tm_mon = 1;
  when.tm_mday = 3;
  when.tm_hour = 4;
  when.tm_min = 5;
  when.tm_sec = 6;
  when.tm_isdst = -1;
  return std::mktime(&when);
}

// Runs every case of NAME.json; returns how many there are.
int check_all(const std::string& name) {
  const auto text = read(kFolder + name + ".json");
  REQUIRE(text.has_value());
  const auto cases = base::Json::parse(*text);
  REQUIRE(cases.has_value());
  const auto shared = read(kFolder + name + ".jinja");
  for (const base::Json& each : cases->items()) {
    const std::string source = shared ? *shared : each.find("template")->string();
    const auto parsed = Template::parse(source);
    base::Result<std::string> text_or_error = base::fail(base::ErrorCode::kInternal, "");
    if (parsed) {
      text_or_error = parsed->render(*each.find("context"), {.now_s = fixture_time()});
    } else {
      text_or_error = std::unexpected(parsed.error());
    }
    const std::string source_shown = source.substr(0, 300);
    CAPTURE(source_shown);
    if (each.find("fails")) {
      REQUIRE_FALSE(text_or_error.has_value());
      CHECK(text_or_error.error().message.starts_with("Line "));
    } else {
      REQUIRE_MESSAGE(text_or_error.has_value(), text_or_error.error().text());
      CHECK(*text_or_error == each.find("expected")->string());
    }
  }
  return static_cast<int>(cases->items().size());
}

TEST_CASE("the language is that of jinja2, in what works and in what fails") {
  CHECK(check_all("language") > 100);
}

TEST_CASE("all of jinja2's reference is there: scopes, filters, tests, methods and formats") {
  CHECK(check_all("reference") > 80);
}

TEST_CASE("templates in the style of each family render as jinja2 renders them") {
  for (const char* name : {"chatml", "llama3", "gemma", "mistral", "qwen", "falcon-h1", "olmo2",
                           "olmo3", "phi4-mini"}) {
    CAPTURE(name);
    CHECK(check_all(name) == 8);
  }
}

TEST_CASE("the templates written after model cards show the style of their answers") {
  const auto style = [](const char* name) {
    return reply_style(read(kFolder + std::string(name) + ".jinja").value()).name;
  };
  CHECK(style("falcon-h1") == "hermes");
  CHECK(style("olmo2") == "plain");
  CHECK(style("olmo3") == "olmo3");
  CHECK(style("phi4-mini") == "phi4");
}

TEST_CASE("models' own templates show the style of their answers") {
  constexpr std::pair<const char*, const char*> kStyles[] = {
      {"apertus", "apertus"},   {"deepseek-v3.1", "deepseek"}, {"glm4.6", "glm"},
      {"glm4.7-flash", "glm"},  {"gpt-oss", "gpt-oss"},        {"granite3.3", "granite"},
      {"granite4.0", "hermes"}, {"granite4.1", "hermes"},      {"ministral3", "mistral"},
      {"phi3.5", "plain"},      {"qwen3-coder", "qwen-xml"},   {"qwen3", "hermes"},
      {"seed-oss", "seed"},     {"smollm3", "think"},
  };
  for (const auto& [name, style] : kStyles) {
    const std::string source = read(fmt::format("{}models/{}.jinja", kFolder, name)).value();
    CHECK_MESSAGE(reply_style(source).name == style, std::string(name));
  }
}

std::string fnv1a(std::string_view text) {
  uint64_t value = 0xCBF29CE484222325;
  for (const char c : text) value = (value ^ static_cast<uint8_t>(c)) * 0x100000001B3;
  return fmt::format("{:016x}", value);
}

// The contexts in the order of tools/template_cases.py.
std::vector<base::Json> conversations() {
  const base::Json parts =
      base::Json::parse(read(kFolder + std::string("models/conversations.json")).value()).value();
  std::vector<base::Json> out;
  for (const auto& [name, messages] : parts.find("conversations")->members()) {
    for (const base::Json& tools : {base::Json(), *parts.find("tools")}) {
      for (const auto& [setting, thinking] : parts.find("thinking")->members()) {
        for (const bool opens : {true, false}) {
          base::Json context = base::Json::object();
          context.set("bos_token", "<s>").set("eos_token", "</s>").set("documents", {});
          context.set("tools", tools).set("messages", messages);
          context.set("add_generation_prompt", opens);
          for (const auto& [key, value] : thinking.members()) context.set(key, value);
          out.push_back(std::move(context));
        }
      }
    }
  }
  return out;
}

TEST_CASE("models' own templates render every conversation as jinja2 renders it") {
  const base::Json sums =
      base::Json::parse(read(kFolder + std::string("models/sums.json")).value()).value();
  const std::vector<base::Json> contexts = conversations();
  CHECK(sums.members().size() == 18);
  for (const auto& [name, expected] : sums.members()) {
    const auto parsed = Template::parse(read(kFolder + ("models/" + name + ".jinja")).value());
    REQUIRE(parsed.has_value());
    REQUIRE(expected.items().size() == contexts.size());
    for (size_t i = 0; i < contexts.size(); ++i) {
      const auto text = parsed->render(contexts[i], {.now_s = fixture_time()});
      CAPTURE(name);
      CAPTURE(i);
      CHECK((text ? fnv1a(*text) : "fails") == expected.items()[i].string());
      if (!text) CHECK(text.error().message.starts_with("Line "));
    }
  }
}

TEST_CASE("a template cut at any byte is refused or rendered, never more") {
  for (const char* name : {"qwen", "mistral", "llama3"}) {
    const std::string source = read(kFolder + std::string(name) + ".jinja").value();
    const base::Json cases =
        *base::Json::parse(read(kFolder + std::string(name) + ".json").value());
    int n_parsed = 0;
    for (size_t cut = 0; cut < source.size(); ++cut) {
      const auto parsed = Template::parse(source.substr(0, cut));
      if (!parsed) {
        CHECK(parsed.error().message.starts_with("Line "));
        continue;
      }
      ++n_parsed;
      const auto text = parsed->render(*cases.items()[3].find("context"));
      if (!text) CHECK(text.error().message.starts_with("Line "));
    }
    CHECK(n_parsed > 0);
  }
}

}  // namespace
}  // namespace puna::chat
