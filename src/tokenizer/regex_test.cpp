#include "tokenizer/regex/regex.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "tokenizer/pipeline/matches.h"

namespace puna::tokenizer {
namespace {

// The text with its matches in brackets.
std::string marked(std::string_view expression, std::string_view text) {
  const auto pattern = Pattern::compile(expression, /*is_expression=*/true);
  REQUIRE_MESSAGE(pattern.has_value(), pattern.error().text());
  std::string out;
  for (const MatchSpan& span : pattern->spans(text)) {
    const std::string_view part = text.substr(span.begin, span.end - span.begin);
    out += span.match ? "[" + std::string(part) + "]" : std::string(part);
  }
  return out;
}

TEST_CASE("classes, properties and sets in sets match what Oniguruma matches") {
  CHECK(marked("[[:alpha:]]+", "ab1 é") == "[ab]1 [é]");
  CHECK(marked(R"([[:punct:]])", "a$b+c") == "a[$]b[+]c");
  CHECK(marked(R"(\p{Han}+|\p{^L})", "a中字1") == "a[中字][1]");
  CHECK(marked(R"(\w)", "½") == "[½]");
  CHECK(marked("[[:word:]]", "½") == "½");
  CHECK(marked(R"([\w])", "½") == "½");
  CHECK(marked("[a-z&&[^b]]+", "abca") == "[a]b[ca]");
  CHECK(marked(R"(\h+)", "af0g") == "[af0]g");
  CHECK(marked(R"(\d)", "1٣a") == "[1][٣]a");
}

TEST_CASE("conditions look ahead, behind and at the edges of lines and words") {
  CHECK(marked("(?=[A-Z])", "aBcD") == "a[]Bc[]D");
  CHECK(marked("(?<=a{1,3})b", "aab b") == "aa[b] b");
  CHECK(marked("(?<!a)b", "abcb") == "abc[b]");
  CHECK(marked("^.", "ab\nc\n") == "[a]b\n[c]\n");
  CHECK(marked("a$", "a\na b") == "[a]\na b");
  CHECK(marked(R"(\bfoo)", "foo afoo") == "[foo] afoo");
}

TEST_CASE("repeats are greedy, lazy or possessive, and groups atomic") {
  CHECK(marked("a++a", "aaa") == "aaa");
  CHECK(marked("a{1,3}+a", "aaaa") == "[aaaa]");  // a repeat of a repeat, not a possessive one
  CHECK(marked("(?>ab|a)b", "abb ab") == "[abb] ab");
  CHECK(marked("a{,2}b", "aaab") == "a[aab]");
  CHECK(marked("(a|b)*?c", "abc") == "[abc]");
  CHECK(marked("x*", "axxb") == "[]a[xx]b[]");
  CHECK(marked(R"((?<n>e)\k<n>)", "eel") == "[ee]l");
  CHECK(marked("(?i)k", "K\u212A") == "[K][\u212A]");
}

TEST_CASE("what is not carried out is refused by name") {
  for (const char* expression :
       {R"(a\Kb)", R"(\X)", "(?~ab)", R"(\p{Script=Han})", "(?i)ss", "(a", "a)", "[a", "*a",
        R"(\k<n>)", "(?<=a{300})b", R"((a)\2)", R"((a)\k<>)", "a{2}{2}{2}{2}{2}",
        "(?:(?:(?:(?:){100000}){100000}){100000})a", "(?:(?:ab){1000}){1000}"}) {
    CAPTURE(expression);
    const auto got = Regex::compile(expression);
    REQUIRE(!got.has_value());
    CHECK(got.error().code == base::ErrorCode::kUnsupported);
    CHECK(got.error().message.find(expression) != std::string::npos);
  }
}

TEST_CASE("long expressions are refused, and shown from their beginning") {
  std::string expression = "a";
  for (int i = 0; i < 40000; ++i) expression += "\u00e9?";
  const auto got = Regex::compile(expression);
  REQUIRE(!got.has_value());
  // Of the character at byte 199 only one byte would be shown.
  CHECK(got.error().message == "The expression \"" + expression.substr(0, 199) +
                                   "...\" has more than 65536 bytes, which is not supported.");
}

TEST_CASE("what is too long for the quicker matcher is matched without going deep") {
  std::string expression;
  for (int i = 0; i < 2000; ++i) expression += "a?";
  CHECK(marked(expression + "b", "aaab") == "[aaab]");
  // Each of its ways takes so many steps that counting ways would be no limit.
  CHECK(marked(expression + "b", std::string(40, 'a') + "cb") == std::string(40, 'a') + "cb");
}

TEST_CASE("an expression as deep as is allowed matches") {
  std::string deep = "a";
  for (int i = 0; i < 99; ++i) deep = "(?:" + deep + ")****";
  CHECK(marked(deep, "aaa") == "[aaa]");
  CHECK(!Regex::compile(deep + "*").has_value());
  CHECK(!Regex::compile("(?:(?:" + deep + "))").has_value());
}

TEST_CASE("parts that are written out many times are those of the one that stands there") {
  CHECK(marked("(?:[a-c][d-f]){3}", "adbecfad") == "[adbecf]ad");
  CHECK(marked("(?:(?:ab)++c){2}", "ababcabc") == "[ababcabc]");
}

TEST_CASE("a search that takes too many steps ends, and the rest of the text has no match") {
  // 2^26 ways to read it, which take some steps each.
  const std::string text = std::string(26, 'a');
  CHECK(marked("(a|a)*b", "b" + text + "cb") == "[b]" + text + "cb");
  CHECK(marked("(?!(a|a)*b)a", text) == text);
}

}  // namespace
}  // namespace puna::tokenizer
