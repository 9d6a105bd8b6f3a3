#include "tokenizer/split.h"

#include <doctest/doctest.h>

#include <string>

#include "base/utf8.h"
#include "tokenizer/pre_tokenizers.h"
#include "tokenizer/unicode.h"

namespace puna::tokenizer {
namespace {

using Words = std::vector<std::string>;

Words split(const std::vector<std::string_view>& expressions, std::string_view text) {
  std::vector<SplitExpression> compiled;
  for (const auto expression : expressions) {
    auto one = SplitExpression::compile(expression);
    REQUIRE_MESSAGE(one.has_value(), one.error().text());
    compiled.push_back(*std::move(one));
  }
  Words words;
  for_each_word(compiled, text, [&](std::string_view word) { words.emplace_back(word); });
  return words;
}

TEST_CASE("what no alternative matches is a piece of its own") {
  CHECK(split({"a+"}, "xxaayaz") == Words{"xx", "aa", "y", "a", "z"});
  CHECK(split({"a"}, "") == Words{});
  CHECK(split({}, "abc") == Words{"abc"});
}

TEST_CASE("the first alternative that matches wins, and repeats give back what the rest needs") {
  CHECK(split({"ab|abc"}, "abc") == Words{"ab", "c"});
  CHECK(split({"[ab]*b"}, "aabba") == Words{"aabb", "a"});
  CHECK(split({"[ab]{1,2}b"}, "aabb") == Words{"aab", "b"});
  CHECK(split({R"(\s+(?!\S)|x)"}, "   x ") == Words{"  ", " ", "x", " "});
  CHECK(split({"(?:ab|a)?b"}, "abb") == Words{"abb"});
  CHECK(split({"(?:ab|a)b"}, "ab") == Words{"ab"});
}

TEST_CASE("the next expression sees only the pieces of the one before") {
  CHECK(split({R"(\p{N})", R"(\s+(?!\S)|[^\s]+)"}, "a  1b") == Words{"a", "  ", "1", "b"});
}

TEST_CASE("sets know classes, ranges, negation and white space") {
  CHECK(split({R"([^\r\n\p{L}]+)"}, "a1-\r\u00e92") == Words{"a", "1-", "\r\u00e9", "2"});
  CHECK(split({"[\u3041-\u3096]+"}, "a\u3042\u3043\u30a2") == Words{"a", "\u3042\u3043", "\u30a2"});
  CHECK(split({R"([\]\-^]+)"}, "a]-^b") == Words{"a", "]-^", "b"});
  CHECK(split({R"(\s+)"}, "a\u00a0\u2003\u0085\u3000b\u200bc") ==
        Words{"a", "\u00a0\u2003\u0085\u3000", "b\u200bc"});
}

TEST_CASE("letters without case include those that fold to ASCII") {
  CHECK(split({"(?i:'s|'ll)"}, "x's'S'\u017f'Ll") == Words{"x", "'s", "'S", "'\u017f", "'Ll"});
}

TEST_CASE("stray bytes belong to no class and are never lost") {
  CHECK(split({R"(\p{L}+|[^\s\p{L}]+)"}, "a\xFF\xC3(b\xE2\x82") ==
        Words{"a", "\xFF\xC3(", "b", "\xE2\x82"});
}

TEST_CASE("what is not in the subset does not compile") {
  for (const char* expression :
       {"",           "a|",     "(a)",  "(?=a)",   "a+?",   "a+++",   "$a", "[a", "(?:a",   "\\d",
        "\\p{Greek}", "a{2,1}", "a{0}", "(?:ab)+", "[b-a]", "(?!a)b", "a)", "*",  "[a\\S]", "\\"}) {
    CAPTURE(expression);
    const auto compiled = SplitExpression::compile(expression);
    REQUIRE(!compiled.has_value());
    CHECK(compiled.error().code == base::ErrorCode::kInternal);
  }
  std::string many;  // 33 different sets
  for (int i = 0; i < 33; ++i) many.push_back(static_cast<char>('A' + i % 26 + i / 26 * 32));
  CHECK(!SplitExpression::compile(many).has_value());
  CHECK(SplitExpression::compile(many.substr(1)).has_value());
  CHECK(SplitExpression::compile("a{").error().message ==
        "The split expression a{ has no number at byte 2, which is not understood.");
}

std::string repeated(std::string_view part, size_t n) {
  std::string out;
  for (size_t i = 0; i < n; ++i) out += part;
  return out;
}

TEST_CASE("what would take the matcher deep into itself does not compile") {
  CHECK(split({repeated("a?", 99) + "b"}, repeated("a", 99) + "b").size() == 1);
  CHECK(!SplitExpression::compile(repeated("a?", 100) + "b").has_value());
  CHECK(!SplitExpression::compile(repeated("(?:a|b)?", 100) + "b").has_value());
  CHECK(!SplitExpression::compile("[" + std::string(65536, 'a') + "]").has_value());
}

TEST_CASE("a search that takes too many steps ends, and the rest of the text is one piece") {
  // More than 10^12 ways to share 72 characters among 12 repeats, or 60 among as many groups.
  const std::string repeats = repeated("a*", 12) + "b";
  const std::string groups = repeated("(?:a|aa)", 60) + "b";
  CHECK(split({repeats}, "aab" + std::string(72, 'a') + "cab") ==
        Words{"aab", std::string(72, 'a') + "cab"});
  CHECK(split({groups}, std::string(90, 'a') + "c") == Words{std::string(90, 'a') + "c"});
}

TEST_CASE("every rule of the table compiles, and its pieces are the text") {
  const std::string text = "Don't  x1234 \r\n\n caf\u00e9 \u4e2d\u6587 \xFF\xF0\x9F '\u017f!";
  for (const PreTokenizer& row : pre_tokenizers()) {
    CAPTURE(row.name);
    std::string joined;
    for (const auto& word : split({row.expressions.begin(), row.expressions.end()}, text))
      joined += word;
    CHECK(joined == text);
    CHECK(find_pre_tokenizer(row.name) == &row);  // no name stands twice
  }
}

TEST_CASE("code points have the classes of Unicode 16") {
  CHECK(class_of('A') == CharClass::kUpper);
  CHECK(class_of(0x1C5) == CharClass::kTitle);
  CHECK(class_of(0x2B0) == CharClass::kModifier);
  CHECK(class_of(0x4E2D) == CharClass::kOtherLetter);
  CHECK(class_of(0x301) == CharClass::kMark);
  CHECK(class_of(0x1D7D8) == CharClass::kNumber);
  CHECK(class_of(0x20AC) == CharClass::kSymbol);
  CHECK(class_of(0x3000) == CharClass::kSeparator);
  CHECK(class_of(0x85) == CharClass::kSpaceControl);
  CHECK(class_of(0x10D4A) == CharClass::kOtherLetter);  // GARAY VOWEL SIGN A, new in 16.0
  CHECK(class_of(0x16FF4) == CharClass::kOther);        // a number only from 17.0 on
  CHECK(class_of(0x10FFFF) == CharClass::kOther);
  CHECK(class_of(base::kInvalidCodePoint) == CharClass::kOther);
}

}  // namespace
}  // namespace puna::tokenizer
