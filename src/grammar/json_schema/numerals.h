// Sets of numbers as automata over what is written of them: "-", digits and a point, without an
// exponent. A set holds every way to write a number ("1", "1.0", "1.00") or none, so what schemas
// say of numbers can be joined, met and taken away exactly. Read next: value_set.h.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/json.h"
#include "grammar/expression.h"

namespace puna::grammar {

// A number to all of its digits.
struct Decimal {
  bool negative = false;  // never of 0
  std::string whole;      // without zeros in front; "0" for none
  std::string fraction;   // without zeros at its end
  bool is_zero() const { return whole == "0" && fraction.empty(); }

  // Of a JSON number. Nothing for one of more than kMostDigits on a side of the point.
  static constexpr size_t kMostDigits = 100;
  static std::optional<Decimal> of(const base::Json& number);
};

class Numerals {
 public:
  static const Numerals& none();
  static const Numerals& all();
  static const Numerals& integers();  // 1.0 is one too
  // The numbers x that are less than, equal to or greater than `bound`, as is asked.
  static Numerals compared(const Decimal& bound, bool less, bool equal, bool greater);
  // Nothing for a step of more than kMostSteps without its powers of ten in front and behind.
  static constexpr uint32_t kMostSteps = 2000;
  static std::optional<Numerals> multiples_of(const Decimal& step);
  // What is one of these numbers.
  static Numerals listed(std::span<const Decimal> numbers);

  static Numerals both(const Numerals& a, const Numerals& b);
  static Numerals either(const Numerals& a, const Numerals& b);
  static Numerals without(const Numerals& a, const Numerals& b);

  bool is_none() const { return states_.size() == 1 && !too_large_; }
  // More than kMostStates were met on the way; what is made of it is so too.
  static constexpr uint32_t kMostStates = 20'000;
  bool is_too_large() const { return too_large_; }
  // Equal sets are equal here.
  bool operator==(const Numerals&) const = default;

  // How such numbers are written: integers without a point, a finite set without zeros at the end,
  // all numbers with exponents too, and 0 without a sign.
  // is_short: with at most 40 digits before the point.
  Expression expression(Expressions& expressions, bool is_short = false) const;

 private:
  static constexpr uint32_t kMinus = 10, kPoint = 11, kSymbols = 12;  // below: digits
  struct State {
    bool accepts = false;
    std::array<uint32_t, kSymbols> next{};  // 0 where nothing follows
    bool operator==(const State&) const = default;
  };
  enum class Spelling : uint8_t { kAny, kInteger, kShortest, kUnsigned0 };

  Numerals() : states_(1) {}
  uint32_t add(bool accepts);
  void link(uint32_t from, uint32_t low, uint32_t high, uint32_t to);
  void compare_at(uint32_t from, const Decimal& bound, const std::array<bool, 3>& wanted);
  void minimize();
  bool is_finite() const;
  static Numerals spelled(Spelling spelling);
  static Numerals short_ones();
  template <class Accepts>
  static Numerals product(const Numerals& a, const Numerals& b, Accepts accepts);

  // State 0 accepts nothing, 1 is where reading starts; the fewest there can be, in the order that
  // they are met, so equal sets have equal states.
  std::vector<State> states_;
  bool too_large_ = false;
};

}  // namespace puna::grammar
