#include "chat/parsers/json_reader.h"

#include <doctest/doctest.h>

#include <random>

namespace puna::chat {
namespace {

ReadState scan(std::string_view text) {
  JsonScanner scanner;
  for (size_t i = 0; i < text.size(); ++i) {
    const ReadState state = scanner.push(text[i]);
    if (state == ReadState::kMalformed) return state;
    if (state == ReadState::kDone) return i + 1 == text.size() ? state : ReadState::kMalformed;
  }
  return ReadState::kReading;
}

TEST_CASE("the scanner accepts objects and arrays") {
  for (const char* text :
       {"{}", " [ ] ", R"({"a": [1, -0.5e+3, "x\n\u00fC\"", true, false, null, {}]})",
        R"([[[]], {"a": {"b": 0}}])", R"({"a":0E1,"b":10})"}) {
    CAPTURE(text);
    std::string_view trimmed = text;
    while (trimmed.ends_with(' ')) trimmed.remove_suffix(1);
    CHECK(scan(trimmed) == ReadState::kDone);
  }
}

TEST_CASE("the scanner refuses at the first wrong byte") {
  for (const char* text :
       {"}",        "]",          "\"",        "1",         "{a",   "{,",    "{\"a\",",
        "{\"a\":}", "{\"a\":1,}", "[1,]",      "[,",        "[1 2", "[01",   "[-]",
        "[1.]",     "[1e]",       "[1.e",      "[+",        "[.",   "[tru]", "[nul,",
        "[\"\n",    "[\"\\x",     "[\"\\u12G", "{\"a\":1]", "[1}"}) {
    CAPTURE(text);
    CHECK(scan(text) == ReadState::kMalformed);
    CHECK(scan(std::string_view(text).substr(0, std::string_view(text).size() - 1)) ==
          ReadState::kReading);
  }
  CHECK(scan(std::string(101, '[')) == ReadState::kMalformed);
  CHECK(scan(std::string(100, '[')) == ReadState::kReading);
}

TEST_CASE("the scanner agrees with the parser on changed documents") {
  std::mt19937 random(3);
  const std::string whole =
      R"({"a": [1, -2.5e3, "x\n\u00fc", true, null], "b": {"c": {}, "d": [[]]}})";
  static constexpr std::string_view kBytes = "{}[]\",:0123456789-+.eE\\untrfals x";
  for (int i = 0; i < 20'000; ++i) {
    std::string text = whole;
    for (auto n = random() % 3; n > 0; --n)
      text[random() % text.size()] = kBytes[random() % kBytes.size()];
    CAPTURE(text);
    REQUIRE((scan(text) == ReadState::kDone) == base::Json::parse(text).has_value());
  }
}

}  // namespace
}  // namespace puna::chat
