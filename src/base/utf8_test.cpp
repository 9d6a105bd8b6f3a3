#include "base/utf8.h"

#include <doctest/doctest.h>

#include <vector>

using namespace puna::base;

TEST_CASE("every code point survives writing and reading, and its prefixes are incomplete") {
  for (char32_t c = 1; c < 0x110000; ++c) {
    if (c >= 0xD800 && c < 0xE000) continue;
    std::string text;
    utf8_append(text, c);
    const Utf8Unit unit = utf8_next(text, 0);
    bool good = unit.code_point == c && unit.bytes == text.size() &&
                utf8_previous_bytes(text, text.size()) == text.size() &&
                utf8_complete_prefix(text) == text.size();
    for (size_t cut = 1; cut < text.size(); ++cut)
      good &= utf8_complete_prefix(std::string_view(text).substr(0, cut)) == 0;
    CAPTURE(c);
    if (!good) FAIL("the code point does not survive");  // an assertion for each would take seconds
  }
}

TEST_CASE("overlong forms, surrogates, values above U+10FFFF and stray bytes are no characters") {
  for (const char* text : {"\xC0\x80", "\xC1\xBF", "\xE0\x9F\xBF", "\xED\xA0\x80",
                           "\xF0\x8F\xBF\xBF", "\xF4\x90\x80\x80", "\xF5\x80", "\x80", "\xFF"}) {
    CHECK(utf8_next(text, 0).code_point == kInvalidCodePoint);
    CHECK(!utf8_is_valid(text));
    CHECK(utf8_complete_prefix(text) ==
          std::string_view(text).size());  // nothing that comes could mend it
  }
  CHECK(utf8_is_valid("a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80"));
}

TEST_CASE("walking backwards over broken text meets the boundaries of walking forwards") {
  const char bytes[] = {'a', '\x80', '\xC3', '\xA9', '\xE2', '\x82', '\xF0', '\x9F', '\x98'};
  uint32_t state = 1;
  for (int round = 0; round < 20000; ++round) {
    std::string text;
    for (int i = 0; i < 12; ++i) {
      state = state * 1664525 + 1013904223;
      text.push_back(bytes[(state >> 16) % sizeof bytes]);
    }
    std::vector<size_t> forward, backward;
    for (size_t at = 0; at < text.size(); at += utf8_next(text, at).bytes) forward.push_back(at);
    for (size_t at = text.size(); at > 0;)
      backward.insert(backward.begin(), at -= utf8_previous_bytes(text, at));
    REQUIRE(forward == backward);
  }
}
