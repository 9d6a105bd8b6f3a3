#include "grammar/lazy.h"

#include <doctest/doctest.h>

#include "grammar/gbnf.h"

namespace puna::grammar {
namespace {

using Kind = Trigger::Kind;

std::shared_ptr<const Grammar> lazy(std::string_view gbnf, std::vector<Trigger> triggers,
                                    std::vector<std::string> controls = {}) {
  Builder builder({.compile_ms = 0});
  const auto bound = write_gbnf(builder, gbnf, controls);
  REQUIRE(bound);
  const auto start = write_lazily(builder, *bound, triggers);
  REQUIRE_MESSAGE(start, start.error().text());
  const auto grammar = std::move(builder).build(*start);
  REQUIRE_MESSAGE(grammar, grammar.error().text());
  return *grammar;
}

}  // namespace

TEST_CASE("a text is free until a trigger stands in it") {
  const auto grammar = lazy(R"(root ::= "<call>" [a-z]+ "</call>")", {{Kind::kText, "<call>"}});
  for (const char* text :
       {"", "Well, <cal", "no call", "a <call>ab</call>", "\xC3", "<<call>x</call>"})
    CHECK_MESSAGE(accepts(grammar, text), text);
  for (const char* text : {"a <call>", "<call>1", "<call>ab</call> more", "<call>ab</call><call>"})
    CHECK_MESSAGE(!accepts(grammar, text), text);
  CHECK(accepts_prefix(grammar, "a <call>ab</ca"));
  CHECK_FALSE(accepts_prefix(grammar, "a <call>ab</call>x"));
}

TEST_CASE("patterns are triggers too, anywhere or from the start") {
  const auto anywhere = lazy(R"(root ::= "{" [0-9]* "}")", {{Kind::kPattern, "\\{[ 0-9]"}});
  CHECK(accepts(anywhere, "a {12}"));
  CHECK(accepts(anywhere, "a {b"));
  CHECK_FALSE(accepts_prefix(anywhere, "a {1b"));
  CHECK_FALSE(accepts_prefix(anywhere, "a { "));  // the grammar has no such text
  const auto full = lazy(R"(root ::= "{" [0-9]* "}")", {{Kind::kPatternFull, "\\s*\\{"}});
  CHECK(accepts(full, " {1}"));
  CHECK(accepts(full, "a {b"));
  CHECK_FALSE(accepts_prefix(full, " {b"));
}

TEST_CASE("a control token may stand where a literal has its mark") {
  const auto grammar =
      lazy(R"(root ::= "<call>a</call>")", {{Kind::kText, "<call>"}}, {"<call>", "</call>"});
  CHECK(accepts(grammar, "Hm \xFF<call>a\xFF</call>"));
  CHECK(accepts(grammar, "<call>a</call>"));
  CHECK_FALSE(accepts_prefix(grammar,
                             "\xFF<call>\xFF"
                             "a"));
}

}  // namespace puna::grammar
