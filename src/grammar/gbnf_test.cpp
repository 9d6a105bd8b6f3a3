#include "grammar/gbnf.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <ctime>
#include <string>
#include <vector>

#include "grammar/rules.h"

using namespace puna;
using namespace puna::grammar;

namespace {

const Limits kNoHurry{.compile_ms = 0};

std::shared_ptr<const Grammar> compiled(const std::string& text) {
  auto grammar = gbnf_grammar(text, kNoHurry);
  REQUIRE_MESSAGE(grammar.has_value(), text << ": " << grammar.error().text());
  return *grammar;
}

// JSON with an alternative that is empty, strings with escapes and numbers with counts.
constexpr const char* kJson = R"GBNF(# objects only
root   ::= object
value  ::= object | array | string | number | ("true" | "false" | "null") gap
object ::= "{" gap ( member ("," gap member)* )? "}" gap
member ::= string ":" gap value
array  ::=
  "[" gap (
    value   # the first
    ("," gap value)*
  )? "]" gap
string ::= "\"" ( [^"\\\x7F\x00-\x1F] | "\\" (["\\bfnrt] | "u" [0-9a-fA-F]{4}) )* "\"" gap
number ::= ("-"? ([0-9] | [1-9] [0-9]{0,15})) ("." [0-9]+)? ([eE] [-+]? [0-9]{1,3})? gap
gap    ::= | " " | "\n" [ \t]{0,20}
)GBNF";

}  // namespace

TEST_CASE("GBNF matches as llama.cpp has it") {
  struct Row {
    std::string grammar;
    std::vector<std::string> fits, other;
  };
  const Row rows[] = {
      {"root ::= \"a\" | \"b\" \"c\"", {"a", "bc"}, {"", "b", "abc"}},
      {"root ::= a\na::=\"x\"# comment\r\n# another\n", {"x"}, {"a"}},
      {"root ::= \"a\" |\n  \"b\" |\n\n\"c\"\n", {"a", "b", "c"}, {""}},
      {"root ::=\n  (\"a\"\n  # inside\n \"b\")\n", {"ab"}, {"a"}},
      {"root ::= \"a\"{2} \"b\"{1,} \"c\"{,2} \"d\"{0, 1}", {"aab", "aabbccd"}, {"ab", "aabccc"}},
      {"root ::= [^\\n]+ \"\\n\" .", {"ab\nx", "\xC3\xA9\n\n"}, {"\n", "ab\n"}},
      {"root ::= [\\x41\\u00e9\\U0001F600\\]\\[^-]",
       {"A", "\xC3\xA9", "\xF0\x9F\x98\x80", "]", "[", "^", "-"},
       {"B", "\\"}},
      {"root ::= [\xE3\x81\x81-\xE3\x82\x9F]*", {"\xE3\x81\xB2\xE3\x82\x89", ""}, {"a"}},
      {"root ::= \"\" | ()", {""}, {"a"}},
      // Recursion on the left, on the right, in the middle, through others, and ambiguous.
      {"root ::= root \"+\" num | num\nnum ::= [0-9]+", {"1+22+3"}, {"+1", "1+"}},
      {"root ::= \"a\" root | \"b\"", {"b", "aaab"}, {"aa"}},
      {"root ::= (\"(\" root \")\")*", {"", "(()())"}, {"(", "())"}},
      {"root ::= a\na ::= b \"x\" | \"y\"\nb ::= a?", {"y", "yxx", "xx"}, {"xy"}},
      {"root ::= root root | \"a\" | \"\"", {"", "aaaaa"}, {"b"}},
      {"root ::= (root?)*", {""}, {"a"}},
      // A rule that derives nothing but itself is no way.
      {"root ::= \"a\" | never\nnever ::= never \"x\"", {"a"}, {"x"}},
      // Counts of what is recursive, and counts in counts.
      {"root ::= p{2,3}\np ::= \"(\" p* \")\"", {"()(())", "()()()"}, {"()", "()()()()"}},
      {"root ::= ([a-z]{1,30} \",\"){0,1000}", {"", "a,bc,"}, {"a", "," + std::string(31, 'a')}},
      {"root ::= ((\"a\"{0,1000}){0,1000}){0,1000}", {"aaa"}, {"b"}},
  };
  for (const Row& row : rows) {
    const auto grammar = compiled(row.grammar);
    for (const std::string& text : row.fits)
      CHECK_MESSAGE(accepts(grammar, text), row.grammar << ": " << text);
    for (const std::string& text : row.other)
      CHECK_MESSAGE(!accepts(grammar, text), row.grammar << ": " << text);
  }
}

TEST_CASE("JSON as GBNF, with white space that is empty in one alternative") {
  const auto grammar = compiled(kJson);
  for (const char* text :
       {"{}", "{\"a\":[1,-2.5e10,{\"b\":null}],\"c\":\"\\u00e9 \\n\"}",
        "{\n\t\t\"a\": [\n  true , false\n]}\n", "{\"a\":{\"a\":{\"a\":[[[]]]}}} "})
    CHECK_MESSAGE(accepts(grammar, text), text);
  for (const char* text : {"", "[]", "{\"a\"}", "{\"a\":01}", "{\"a\":\"\\x\"}", "{\"a\":\"\n\"}",
                           "{\"a\":1,}", "{}  ", "{\"a\":tru}"})
    CHECK_MESSAGE(!accepts(grammar, text), text);
  // Strings and numbers are lexemes, not rules of characters.
  CHECK(grammar->n_rules() < 12);
}

TEST_CASE("What is no GBNF is an error that says where") {
  struct Row {
    std::string grammar;
    const char* message;
  };
  const std::string deep = "root ::= " + std::string(70, '(') + "\"a\"" + std::string(70, ')');
  std::string many;
  for (int i = 0; i < 10'001; ++i) many += fmt::format("r{}::=\"\"\n", i);
  const Row rows[] = {
      {"", "Line 1, column 1: There is no rule \"root\"."},
      {"a ::= \"x\"", "Line 1, column 1: There is no rule \"root\"."},
      {"root ::= \"x\" | b\n", "Line 1, column 16: Rule \"b\" is not defined."},
      {"root ::= \"x\"\nroot ::= \"y\"", "Line 2, column 1: Rule \"root\" is defined twice."},
      {"root = \"x\"", "Line 1, column 6: \"::=\" is wanted behind the name of a rule."},
      {"root ::= \"x", "Line 1, column 10: A text in quotes does not end."},
      {"root ::= [a", "Line 1, column 10: A \"[\" without a \"]\" behind it."},
      {"root ::= (\"a\"\nb ::= \"c\"", "Line 2, column 3: A part of a rule is wanted."},
      {"root ::= (\"a\"", "Line 1, column 10: A \"(\" without a \")\" behind it."},
      {"root ::= \"a\")", "Line 1, column 13: A part of a rule or the end of the line is wanted."},
      {"root ::= *", "Line 1, column 10: A part of a rule is wanted."},
      {"root ::= \"\\q\"",
       "Line 1, column 11: An escape is one of \\x \\u \\U \\t \\r \\n \\\\ \\\" "
       "\\[ \\] \\- \\^."},
      {"root ::= \"\\uD800\"", "Line 1, column 11: There is no character of this code point."},
      {"root ::= [z-a]", "Line 1, column 11: The bounds of a range are out of order."},
      {"root ::= \"a\"{2,1}", "Line 1, column 13: The bounds of a count are out of order."},
      {"root ::= \"a\"{}", "Line 1, column 13: A count is written {m}, {m,}, {m,n} or {,n}."},
      {"root ::= \"a\"{9999999999}", "Line 1, column 14: A count is less than 4294967295."},
      {"root ::= <think>", "Line 1, column 10: A token as a part of a rule is not carried out."},
      {"root ::= !<[7]>", "Line 1, column 10: A token as a part of a rule is not carried out."},
      {"root ::= \"\xFF\"", "Line 1, column 11: The grammar is not valid UTF-8."},
      {"root ::= root", "No text at all fits the grammar."},
      {"root ::= \"a\" b\nb ::= b b | \"c\" b", "No text at all fits the grammar."},
      {deep,
       "Line 1, column 74: The parentheses in parentheses are more than 64, which is the "
       "limit depth."},
      {"root ::= \"a\"" + std::string(70, '*'),
       "Line 1, column 78: The counts of counts are more than 64, which is the limit depth."},
      {std::string(70'000, ' '),
       "The bytes of the grammar are more than 65536, which is the limit text_bytes."},
  };
  for (const Row& row : rows) {
    const auto grammar = gbnf_grammar(row.grammar, kNoHurry);
    REQUIRE_MESSAGE(!grammar.has_value(), row.grammar);
    CHECK(grammar.error().message == row.message);
  }
  Limits few = kNoHurry;
  few.text_bytes = 1 << 20;
  const auto grammar = gbnf_grammar(many, few);
  REQUIRE_FALSE(grammar.has_value());
  CHECK(grammar.error().message ==
        "The rules of the grammar are more than 10000, which is the limit rules.");
}

TEST_CASE("Any cut of a grammar is a grammar or an error") {
  const std::string all = kJson;
  for (size_t from = 0; from < all.size(); from += 7) {
    for (size_t size = 0; size <= all.size() - from; size += 5) {
      const auto grammar = gbnf_grammar("root ::= object\n" + all.substr(from, size), kNoHurry);
      if (!grammar) CHECK_FALSE(grammar.error().message.empty());
    }
  }
}

TEST_CASE("Grammars that grow without end are refused in time or are matched") {
  std::string doubling = "root ::= r0\n";
  for (int i = 0; i < 40; ++i) doubling += fmt::format("r{} ::= r{} r{}\n", i, i + 1, i + 1);
  doubling += "r40 ::= [a-c]?\n";
  std::string choices = "root ::= \"x0\"";
  for (int i = 1; i < 5000; ++i) choices += fmt::format(" | \"x{}\"", i);
  std::string chain = "root ::= r0\n";
  for (int i = 0; i < 2000; ++i) chain += fmt::format("r{} ::= r{} | \"({}\"\n", i, i + 1, i % 7);
  chain += "r2000 ::= \"end\"\n";
  std::string optional = "root ::=";
  for (int i = 0; i < 6000; ++i) optional += " \"a\"?";
  for (const std::string& text : {doubling, choices, chain, optional}) {
    const Limits limits;  // with its time
    const std::clock_t start = std::clock();
    const auto grammar = gbnf_grammar(text, limits);
    CHECK(std::clock() - start < 2 * CLOCKS_PER_SEC);
    if (!grammar) {
      CHECK(grammar.error().message.find("which is the limit") != std::string::npos);
      continue;
    }
    CHECK(accepts_prefix(*grammar, ""));
  }
  CHECK(accepts(compiled(choices), "x4999"));
  CHECK_FALSE(accepts(compiled(choices), "x5000"));
  CHECK(accepts(compiled(chain), "end"));
}
