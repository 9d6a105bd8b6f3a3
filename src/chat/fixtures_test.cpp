// The cases of tests/fixtures/chat/, whose outcomes Python's jinja2 gave
// (tools/compare_templates.py).
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <ctime>
#include <fstream>
#include <optional>
#include <sstream>

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
TEST_CASE("a template in the style of ChatML renders as jinja2 renders it") {
  CHECK(check_all("chatml") == 8);
}
TEST_CASE("a template in the style of Llama 3 renders as jinja2 renders it") {
  CHECK(check_all("llama3") == 8);
}
TEST_CASE("a template in the style of Gemma renders as jinja2 renders it") {
  CHECK(check_all("gemma") == 8);
}
TEST_CASE("a template in the style of Mistral renders as jinja2 renders it") {
  CHECK(check_all("mistral") == 8);
}
TEST_CASE("a template in the style of Qwen renders as jinja2 renders it") {
  CHECK(check_all("qwen") == 8);
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
