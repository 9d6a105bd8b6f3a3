#include "grammar/json_schema/numerals.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>
#include <vector>

#include "grammar/grammar.h"

namespace puna::grammar {
namespace {

// Thousandths from -2.5 to 12.5 and their spellings, a few at a time.
std::string spelled(int thousandths) {
  const int whole = std::abs(thousandths) / 1000;
  std::string out =
      fmt::format("{}{}.{:03}", thousandths < 0 ? "-" : "", whole, std::abs(thousandths) % 1000);
  while (out.ends_with('0')) out.pop_back();
  if (out.ends_with('.')) out.pop_back();
  return out;
}

std::shared_ptr<const Grammar> grammar_of(const Numerals& numbers) {
  Builder builder(Limits{.compile_ms = 0});
  const Symbol start = builder.lexeme(numbers.expression(builder.expressions()));
  auto out = std::move(builder).build(start);
  return out ? *out : nullptr;
}

Decimal decimal(double value) { return *Decimal::of(base::Json(value)); }

TEST_CASE("a decimal has the digits of the number, whatever its exponent") {
  const Decimal small = decimal(-1.25e-7);
  CHECK(small.negative);
  CHECK(small.whole == "0");
  CHECK(small.fraction == "000000125");
  CHECK(decimal(1.5e20).whole == "150000000000000000000");
  CHECK(decimal(-0.0).is_zero());
  CHECK(!decimal(-0.0).negative);
  CHECK(Decimal::of(base::Json(int64_t{-120}))->whole == "120");
  CHECK(!Decimal::of(base::Json(1e200)));
}

TEST_CASE("bounds accept the numbers that are within them") {
  for (const int bound : {-2500, -1000, -5, 0, 5, 250, 1000, 1250, 9999, 10000, 12000}) {
    for (int wanted = 1; wanted < 8; ++wanted) {
      CAPTURE(bound);
      CAPTURE(wanted);
      const bool less = (wanted & 1) != 0, equal = (wanted & 2) != 0, greater = (wanted & 4) != 0;
      // Beside what is listed, so that the set is not finite and any spelling will do.
      const auto grammar =
          grammar_of(Numerals::compared(decimal(bound / 1000.0), less, equal, greater));
      REQUIRE(grammar != nullptr);
      for (int number = -2500; number <= 12500; number += 125) {
        const bool expected = number < bound ? less : number == bound ? equal : greater;
        CHECK(accepts(grammar, spelled(number)) == expected);
      }
      CHECK(accepts(grammar, spelled(bound)) == equal);
    }
  }
}

TEST_CASE("multiples are accepted and nothing else is") {
  for (const int step : {1, 5, 7, 12, 125, 250, 1000, 1500, 2000, 3000, 10000, 12500}) {
    CAPTURE(step);
    const auto multiples = Numerals::multiples_of(decimal(step / 1000.0));
    REQUIRE(multiples);
    const auto grammar = grammar_of(*multiples);
    for (int number = -2500; number <= 30000; number += 25) {
      CHECK(accepts(grammar, spelled(number)) == (number % step == 0));
    }
  }
  CHECK(!Numerals::multiples_of(decimal(123457)));
  CHECK(Numerals::multiples_of(decimal(2e30)));
}

TEST_CASE("sets of numbers obey the laws of sets") {
  const Numerals a = Numerals::compared(decimal(3.5), true, true, false);
  const Numerals b = *Numerals::multiples_of(decimal(0.25));
  CHECK(Numerals::both(a, b) == Numerals::both(b, a));
  CHECK(Numerals::either(a, b) == Numerals::either(b, a));
  CHECK(Numerals::without(a, b) == Numerals::both(a, Numerals::without(Numerals::all(), b)));
  CHECK(Numerals::either(Numerals::without(a, b), Numerals::both(a, b)) == a);
  CHECK(Numerals::without(a, a).is_none());
  CHECK(Numerals::both(a, Numerals::all()) == a);
  const std::vector<Decimal> listed = {decimal(1), decimal(10), decimal(-3), decimal(0),
                                       decimal(2.5)};
  Numerals one_by_one = Numerals::none();
  for (const Decimal& each : listed) {
    one_by_one = Numerals::either(one_by_one, Numerals::compared(each, false, true, false));
  }
  CHECK(Numerals::listed(listed) == one_by_one);
}

}  // namespace
}  // namespace puna::grammar
