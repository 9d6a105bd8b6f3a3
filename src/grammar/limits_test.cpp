// What compiling and texts may cost, and what is said where it is more.
#include "grammar/limits.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "grammar/gbnf.h"
#include "grammar/matcher.h"

using namespace puna;
using namespace puna::grammar;

namespace {

constexpr const char* kAmbiguous = R"(root ::= root root | "a")";

std::shared_ptr<const Grammar> compiled(const char* text, const Limits& limits) {
  auto out = gbnf_grammar(text, limits);
  REQUIRE_MESSAGE(out.has_value(), out.error().text());
  return *out;
}

// Tokens "a", "aa", "aaa", "b" and an end.
constexpr uint32_t kSome = 0b00111, kSomeOrEnd = 0b10111;
Matcher matcher_of(std::shared_ptr<const Grammar> grammar) {
  const std::vector<std::string> texts = {"a", "aa", "aaa", "b", ""};
  auto vocabulary =
      std::make_shared<const GrammarVocabulary>(texts, std::vector<int32_t>{4}, nullptr);
  return {std::move(grammar), std::make_shared<Masks>(std::move(vocabulary))};
}

// Takes "a" until nothing is allowed or there are 10,000 of it; their number.
uint32_t write(Matcher& matcher) {
  uint32_t n = 0;
  for (; n < 10'000 && matcher.allowed()[0] != 0; ++n) {
    REQUIRE(matcher.allowed()[0] == (n == 0 ? kSome : kSomeOrEnd));
    REQUIRE_FALSE(matcher.error());
    matcher.take(0);
  }
  return n;
}

}  // namespace

TEST_CASE("Time in which other threads run does not count for compiling") {
  const Deadline deadline(Limits{.compile_ms = 20});
#ifndef __EMSCRIPTEN__
  std::this_thread::sleep_for(std::chrono::milliseconds(40));
  CHECK_FALSE(deadline.over());
#endif
  const std::clock_t start = std::clock();
  while (!deadline.over() && std::clock() - start < 2 * CLOCKS_PER_SEC) {
  }
  REQUIRE(deadline.over());
  CHECK(deadline.check().error().message ==
        "Compiling the grammar takes more than 20, which is the limit compile_ms.");
  CHECK(std::clock() - start > CLOCKS_PER_SEC / 100);
  CHECK_FALSE(Deadline(Limits{.compile_ms = 0}).over());
}

TEST_CASE("A text of too many readings ends with an error that names the limit") {
  // A reading for each way to put parentheses, so steps grow with the square of the text.
  Matcher matcher = matcher_of(compiled(kAmbiguous, Limits{.mask_steps = 100'000}));
  const uint32_t n = write(matcher);
  CHECK(n > 100);
  CHECK(n < 1000);
  REQUIRE(matcher.error());
  CHECK(matcher.error()->code == base::ErrorCode::kInvalidArgument);
  CHECK(matcher.error()->message ==
        "The grammar has so many readings of the text that its steps are more than 100000, which "
        "is the limit mask_steps.");
  CHECK_FALSE(matcher.may_end());
  CHECK_FALSE(matcher.done());
  CHECK(matcher.forced().empty());
  // Nothing is taken any more, but what was can be taken back.
  const auto fork = matcher.fork();
  matcher.take(0);
  CHECK(matcher.allowed()[0] == 0);
  matcher.undo(1);
  CHECK(matcher.error());
  CHECK(matcher.allowed()[0] == 0);
  matcher.undo(n / 2);
  CHECK_FALSE(matcher.error());
  CHECK(matcher.may_end());
  CHECK(matcher.allowed()[0] == kSomeOrEnd);
  CHECK(fork->error());
}

TEST_CASE("A token that is above a limit when it is taken ends the text") {
  Matcher matcher = matcher_of(compiled(kAmbiguous, Limits{.mask_steps = 2'000}));
  uint32_t n = 0;
  for (; n < 1'000 && !matcher.error(); ++n) matcher.take(2);
  REQUIRE(matcher.error());
  CHECK(matcher.allowed()[0] == 0);
  CHECK_FALSE(matcher.done());
  matcher.take(2);
  matcher.undo(3);
  CHECK_FALSE(matcher.error());
  CHECK(matcher.n_taken() == n - 2);
}

TEST_CASE("The chart of a text has a limit") {
  Matcher matcher = matcher_of(compiled(kAmbiguous, Limits{.chart_bytes = 100'000}));
  CHECK(write(matcher) > 50);
  REQUIRE(matcher.error());
  CHECK(matcher.error()->message ==
        "The bytes of the readings of the text are more than 100000, which is the limit "
        "chart_bytes.");
  CHECK(matcher.size_bytes() < 1'000'000);
}

TEST_CASE("Lists that call themselves at their end, and long texts, come to no limit") {
  for (const char* text :
       {R"(root ::= "a" root | "a")", R"(root ::= root "a" | "a")",
        R"(root ::= list; list ::= item rest; rest ::= "" | list; item ::= "a")"}) {
    CAPTURE(text);
    std::string lines = text;
    std::ranges::replace(lines, ';', '\n');
    Matcher matcher =
        matcher_of(compiled(lines.c_str(), Limits{.mask_steps = 300, .chart_bytes = 2'000'000}));
    CHECK(write(matcher) == 10'000);
    CHECK_FALSE(matcher.error());
  }
}
