#include "grammar/regex.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace puna;
using namespace puna::grammar;

namespace {

const Limits kNoHurry{.compile_ms = 0};

bool matches(const char* regex, std::string_view text, RegexFit fit = RegexFit::kWhole) {
  Builder builder(kNoHurry);
  const auto expression = regex_expression(builder.expressions(), regex, fit, kNoHurry);
  REQUIRE_MESSAGE(expression.has_value(), regex << ": " << expression.error().text());
  if (builder.expressions().is_nothing(*expression)) return false;
  const auto start = builder.lexeme(*expression);
  const auto grammar = std::move(builder).build(start);
  REQUIRE_MESSAGE(grammar.has_value(), regex << ": " << grammar.error().text());
  return accepts(*grammar, text);
}

}  // namespace

TEST_CASE("A regular expression matches as ECMAScript has it") {
  struct Row {
    const char* regex;
    std::vector<std::string> fits, other;
  };
  const Row rows[] = {
      {"", {""}, {"a"}},
      {"a|b|", {"a", "b", ""}, {"ab"}},
      {"ab*c+d?", {"ac", "abbccd"}, {"ad", "abd"}},
      {"(?:ab){2,3}", {"abab", "ababab"}, {"ab", "abababab"}},
      {"a{2}b{1,}", {"aab", "aabbb"}, {"ab", "aa"}},
      {"a{,x}{b", {"a{,x}{b"}, {"ab"}},
      {"(?<year>\\d{4})-(\\d\\d)", {"2026-11"}, {"2026-1", "\xD9\xA1\xD9\xA2\xD9\xA3\xD9\xA4-11"}},
      {"(?P<a>x)", {"x"}, {""}},
      {"\\w+\\s\\W", {"a_9 !", "b\xC2\xA0."}, {"a_9 b"}},
      {"[^a-c]", {"d", "\xC3\xA9", "\n"}, {"a", "", "dd", "\x80"}},
      {"[a\\-z\\]]", {"a", "-", "z", "]"}, {"b"}},
      {"[+--]", {"+", ",", "-"}, {"."}},
      {"[\\w-.]", {"a", "-", "."}, {"+"}},
      {"[[:digit:]x]", {"7", "x"}, {":"}},
      {".", {"a", "\xF0\x9F\x98\x80", "\t"}, {"\n", "\r", "\xE2\x80\xA8"}},
      {"(?s).", {"\n"}, {""}},
      {"(?s:.).", {"\na"}, {"a\n"}},
      {"(?i)stra\xC3\x9F", {"STRA\xC3\x9F", "stra\xE1\xBA\x9E"}, {"strb"}},
      {"(?i:a)b", {"Ab"}, {"AB"}},
      {"a(?i)b|c", {"aB", "C"}, {"Ab"}},
      {"(a(?i)b)c", {"aBc"}, {"aBC"}},
      {"\\x41\\u00e9\\u{1F600}\\cA\\0", {std::string("A\xC3\xA9\xF0\x9F\x98\x80\x01\0", 9)}, {"A"}},
      {"\\uD83D\\uDE00", {"\xF0\x9F\x98\x80"}, {""}},
      {"\\p{Lu}\\P{L}\\p{Script=Greek}",
       {"\xC3\x89"
        "1\xCE\xB1"},
       {"\xC3\xA9"
        "1\xCE\xB1"}},
      {"\\/\\.\\*\\$\\^", {"/.*$^"}, {""}},
      {"a*?b+?c??", {"aabb", "bc"}, {"a"}},
      {"^ab$", {"ab"}, {"b"}},
      {"^(a|b$)|c", {"a", "b", "c"}, {"ab"}},
      {"a$b|a$b?", {"a"}, {"ab"}},
      {"a^b|(^)^c($)?", {"c"}, {"ab", "b"}},
      {"((a{0,1000}){0,1000}){0,1000}", {"", "aaaa"}, {"b"}},
      {"(x{1,3}y){2,40}z", {"xyxxyz"}, {"xyz"}},
      {"[a-z]{0,200}a", {"a", "zzza"}, {"zzz"}},
      // More states than any limit as an automaton, so these become rules.
      {"(a|b)*a(a|b){14}",
       {"a" + std::string(14, 'b'), "bba" + std::string(14, 'a')},
       {std::string(15, 'b')}},
      {"[a-z0-9.]{1,64}@[a-z0-9.-]{1,255}\\.[a-z]{2,24}", {"a.b@x.y.org"}, {"a@b", "a@b.c"}},
  };
  for (const Row& row : rows) {
    for (const std::string& text : row.fits)
      CHECK_MESSAGE(matches(row.regex, text), row.regex << " " << text);
    for (const std::string& text : row.other)
      CHECK_MESSAGE(!matches(row.regex, text), row.regex << " " << text);
  }
}

TEST_CASE("A part of a text is enough where that is asked for") {
  struct Row {
    const char* regex;
    std::vector<std::string> fits, other;
  };
  const Row rows[] = {
      {"b", {"b", "abc", "a\nb\n"}, {"", "ac"}},
      {"^b", {"b", "bc"}, {"ab"}},
      {"b$", {"b", "ab"}, {"bc"}},
      {"^b$", {"b"}, {"ab", "bc"}},
      {"^a|c$", {"ab", "bc"}, {"ba"}},
      {"^(?:[a-z]+|\\d+)$", {"ab", "12"}, {"a1"}},
      {"", {"", "a"}, {"\x80"}},
      {"a$|", {"b"}, {}},
  };
  for (const Row& row : rows) {
    for (const std::string& text : row.fits)
      CHECK_MESSAGE(matches(row.regex, text, RegexFit::kPart), row.regex << " " << text);
    for (const std::string& text : row.other)
      CHECK_MESSAGE(!matches(row.regex, text, RegexFit::kPart), row.regex << " " << text);
  }
}

TEST_CASE("What is no regular expression, or is not carried out, is an error that says where") {
  struct Row {
    std::string regex;
    const char* message;
  };
  std::string deep(70, '(');
  deep += "a" + std::string(70, ')');
  const Row rows[] = {
      {"a(?=b)", "Line 1, column 2: Look-ahead (?= is not carried out."},
      {"\xC3\xA9\n(?<!b)", "Line 2, column 1: Look-behind (?<! is not carried out."},
      {"(a)\\1", "Line 1, column 4: A back-reference is not carried out."},
      {"(?<n>a)\\k<n>", "Line 1, column 8: A back-reference \\k is not carried out."},
      {"\\bfoo", "Line 1, column 1: A word boundary \\b is not carried out."},
      {"(?>a)", "Line 1, column 1: An atomic group (?> is not carried out."},
      {"a++", "Line 1, column 3: A possessive count is not carried out."},
      {"(?m)^a", "Line 1, column 1: The flag \"m\" is not carried out."},
      {"\\p{Nonsense}", "Line 1, column 1: The property \"Nonsense\" is not carried out."},
      {"\\y", "Line 1, column 1: The escape \\y is not carried out."},
      {"(^a)+", "Line 1, column 5: A repeated anchor is not carried out."},
      {"[]a]",
       "Line 1, column 2: An empty class, which some read as one that holds a bracket, is "
       "not carried out."},
      {"a{,3}",
       "Line 1, column 2: A count without its lower bound, which some read as text, is not "
       "carried out."},
      {"a)", "Line 1, column 2: A \")\" without a \"(\" before it."},
      {"a(b", "Line 1, column 2: A \"(\" without a \")\" behind it."},
      {"(?<n", "Line 1, column 1: The name of a group does not end."},
      {"[a", "Line 1, column 1: A \"[\" without a \"]\" behind it."},
      {"[z-a]", "Line 1, column 2: The bounds of a range are out of order."},
      {"a{3,2}", "Line 1, column 2: The bounds of a count are out of order."},
      {"a{99999999999}", "Line 1, column 2: A count is less than 4294967295."},
      {"*a", "Line 1, column 1: A count without something to repeat."},
      {"a**", "Line 1, column 3: A count of a count."},
      {"a\\", "Line 1, column 2: A backslash with nothing behind it."},
      {"\\xg0", "Line 1, column 3: Here 2 hexadecimal digits are wanted."},
      {"\\uD800", "Line 1, column 3: There is no character of this code point."},
      {"\\u{110000}", "Line 1, column 3: There is no character of this code point."},
      {"a\xFF", "Line 1, column 2: The regular expression is not valid UTF-8."},
      {deep, "Line 1, column 66: The groups in groups are more than 64, which is the limit depth."},
      {std::string(70'000, 'a'),
       "The bytes of the regular expression are more than 65536, which is the limit text_bytes."},
      {"a$b", "No text at all fits the grammar."},
  };
  for (const Row& row : rows) {
    const auto grammar = regex_grammar(row.regex, kNoHurry);
    REQUIRE_MESSAGE(!grammar.has_value(), row.regex);
    CHECK(grammar.error().message == row.message);
  }
}

TEST_CASE("Any cut of an expression is an expression or an error") {
  const std::string all =
      "^(?<a>[^\\x00-\\u{10ffff}a-z\\]]{2,3}?|(?i:\\p{L}+)|[[:alpha:]-]*\\uD83D\\uDE00)$|.\\/\\cZ";
  for (size_t from = 0; from < all.size(); from += 3) {
    for (size_t size = 0; size <= all.size() - from; size += 2) {
      const auto grammar = regex_grammar(all.substr(from, size), kNoHurry);
      if (!grammar) CHECK_FALSE(grammar.error().message.empty());
    }
  }
}
