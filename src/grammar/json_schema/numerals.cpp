#include "grammar/json_schema/numerals.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <unordered_map>

namespace puna::grammar {

std::optional<Decimal> Decimal::of(const base::Json& number) {
  std::string text;
  if (number.is_integer()) {
    text = fmt::format("{}", number.integer());
  } else if (std::isfinite(number.number())) {
    text = fmt::format("{}", number.number());  // the shortest that reads as the same
  } else {
    return std::nullopt;
  }
  Decimal out;
  std::string digits;
  int64_t point = -1;
  int64_t exponent = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '-') {
      out.negative = true;
    } else if (c == '.') {
      point = static_cast<int64_t>(digits.size());
    } else if (c == 'e') {
      for (const char digit : text.substr(i + 1)) {
        if (digit >= '0' && digit <= '9') exponent = exponent * 10 + (digit - '0');
      }
      if (text[i + 1] == '-') exponent = -exponent;
      break;
    } else {
      digits += c;
    }
  }
  point = (point < 0 ? static_cast<int64_t>(digits.size()) : point) + exponent;
  if (std::abs(point) > static_cast<int64_t>(kMostDigits)) return std::nullopt;
  if (point < 0) {
    digits.insert(0, static_cast<size_t>(-point), '0');
    point = 0;
  }
  if (static_cast<size_t>(point) > digits.size()) digits.resize(static_cast<size_t>(point), '0');
  out.whole = digits.substr(0, static_cast<size_t>(point));
  out.fraction = digits.substr(static_cast<size_t>(point));
  out.whole.erase(0, std::min(out.whole.find_first_not_of('0'), out.whole.size()));
  if (out.whole.empty()) out.whole = "0";
  out.fraction.erase(out.fraction.find_last_not_of('0') + 1);
  if (out.is_zero()) out.negative = false;
  return out;
}

uint32_t Numerals::add(bool accepts) {
  states_.push_back({accepts, {}});
  return static_cast<uint32_t>(states_.size() - 1);
}

void Numerals::link(uint32_t from, uint32_t low, uint32_t high, uint32_t to) {
  for (uint32_t symbol = low; symbol <= high; ++symbol) states_[from].next[symbol] = to;
}

template <class Accepts>
Numerals Numerals::product(const Numerals& a, const Numerals& b, Accepts accepts) {
  Numerals out;
  out.too_large_ = a.too_large_ || b.too_large_;
  if (out.too_large_) return out;
  std::vector<std::pair<uint32_t, uint32_t>> pairs{{0, 0}};
  std::unordered_map<uint64_t, uint32_t> known{{0, 0}};
  const auto state_of = [&](uint32_t x, uint32_t y) {
    const auto [place, is_new] =
        known.emplace(uint64_t{x} << 32 | y, static_cast<uint32_t>(pairs.size()));
    if (is_new) {
      pairs.emplace_back(x, y);
      out.add(accepts(a.states_[x].accepts, b.states_[y].accepts));
    }
    return place->second;
  };
  state_of(a.is_none() ? 0 : 1, b.is_none() ? 0 : 1);
  for (uint32_t at = 1; at < pairs.size(); ++at) {
    if (pairs.size() > kMostStates) {
      out = Numerals();
      out.too_large_ = true;
      return out;
    }
    const auto [x, y] = pairs[at];
    for (uint32_t symbol = 0; symbol < kSymbols; ++symbol) {
      const uint32_t to = state_of(a.states_[x].next[symbol], b.states_[y].next[symbol]);
      out.states_[at].next[symbol] = to;
    }
  }
  out.minimize();
  return out;
}

const Numerals& Numerals::none() {
  static const Numerals kNone;
  return kNone;
}

const Numerals& Numerals::all() {
  static const Numerals kAll = spelled(Spelling::kAny);
  return kAll;
}

// -?(0|[1-9][0-9]*)(\.[0-9]+)? and what is narrower.
Numerals Numerals::spelled(Spelling spelling) {
  Numerals out;
  const uint32_t start = out.add(false);
  const uint32_t minus = out.add(false);
  const uint32_t zero = out.add(true);
  // A zero behind a sign has to have a fraction that is not zero, unless any spelling will do.
  const uint32_t minus_zero = out.add(spelling == Spelling::kAny);
  const uint32_t whole = out.add(true);
  out.link(start, kMinus, kMinus, minus);
  out.link(start, 0, 0, zero);
  out.link(start, 1, 9, whole);
  out.link(minus, 0, 0, minus_zero);
  out.link(minus, 1, 9, whole);
  out.link(whole, 0, 9, whole);
  if (spelling != Spelling::kInteger) {
    const uint32_t point = out.add(false);
    // After a zero and after another digit; the same where zeros at the end will do.
    const uint32_t ends = out.add(true);
    const uint32_t open = spelling == Spelling::kShortest ? out.add(false) : ends;
    const uint32_t minus_point = out.add(false);
    for (const uint32_t from : {zero, whole}) out.link(from, kPoint, kPoint, point);
    out.link(minus_zero, kPoint, kPoint, minus_point);
    for (const uint32_t from : {point, ends, open}) {
      out.link(from, 0, 0, open);
      out.link(from, 1, 9, ends);
    }
    out.link(minus_point, 0, 0, spelling == Spelling::kAny ? ends : minus_point);
    out.link(minus_point, 1, 9, ends);
  }
  out.minimize();
  return out;
}

const Numerals& Numerals::integers() {
  static const Numerals kIntegers = *multiples_of({false, "1", ""});
  return kIntegers;
}

// From `from` on, the digits of a number are compared with those of `bound`, whose sign does not
// count. wanted: whether less, equal and greater are accepted.
void Numerals::compare_at(uint32_t from, const Decimal& bound, const std::array<bool, 3>& wanted) {
  enum : uint8_t { kLess, kEqual, kGreater };
  const size_t n = bound.whole.size();
  const size_t m = bound.fraction.size();
  // In a fraction: decided, or equal to its first j digits.
  std::array<uint32_t, 3> decided{};
  for (const auto order : {kLess, kGreater}) {
    decided[order] = add(wanted[order]);
    link(decided[order], 0, 9, decided[order]);
  }
  std::vector<uint32_t> equal;
  for (size_t j = 0; j <= m; ++j) equal.push_back(add(wanted[j < m ? kLess : kEqual]));
  for (size_t j = 0; j < m; ++j) {
    const auto digit = static_cast<uint32_t>(bound.fraction[j] - '0');
    if (digit > 0) link(equal[j], 0, digit - 1, decided[kLess]);
    link(equal[j], digit, digit, equal[j + 1]);
    if (digit < 9) link(equal[j], digit + 1, 9, decided[kGreater]);
  }
  link(equal[m], 0, 0, equal[m]);
  link(equal[m], 1, 9, decided[kGreater]);
  // Before the point: i digits, which read alone are less than, equal to or greater than the first
  // i of the bound. As long as there are fewer, the number is less; with more it is greater.
  const uint32_t longer = add(wanted[kGreater]);
  link(longer, 0, 9, longer);
  link(longer, kPoint, kPoint, decided[kGreater]);
  std::array<uint32_t, 3> at{from, from, from};
  for (size_t i = 0; i < n; ++i) {
    std::array<uint32_t, 3> next{};
    for (const auto order : {kLess, kEqual, kGreater}) {
      const bool complete = i + 1 == n;
      const bool accepts = !complete         ? wanted[kLess]
                           : order == kEqual ? wanted[m > 0 ? kLess : kEqual]
                                             : wanted[order];
      next[order] = add(accepts);
      link(next[order], kPoint, kPoint,
           !complete         ? decided[kLess]
           : order == kEqual ? equal[0]
                             : decided[order]);
      if (complete) link(next[order], 0, 9, longer);
    }
    const auto digit = static_cast<uint32_t>(bound.whole[i] - '0');
    if (i > 0) {
      link(at[kLess], 0, 9, next[kLess]);
      link(at[kGreater], 0, 9, next[kGreater]);
    }
    if (digit > 0) link(at[kEqual], 0, digit - 1, next[kLess]);
    link(at[kEqual], digit, digit, next[kEqual]);
    if (digit < 9) link(at[kEqual], digit + 1, 9, next[kGreater]);
    at = next;
  }
}

Numerals Numerals::compared(const Decimal& bound, bool less, bool equal, bool greater) {
  Numerals out;
  const uint32_t start = out.add(false);
  const uint32_t minus = out.add(false);
  out.link(start, kMinus, kMinus, minus);
  const Decimal zero{false, "0", ""};
  if (bound.negative) {
    // A number without a sign is greater, whatever its digits are.
    out.compare_at(start, zero, {greater, greater, greater});
    out.compare_at(minus, bound, {greater, equal, less});
  } else {
    out.compare_at(start, bound, {less, equal, greater});
    // -0 is 0, so it is less than the bound only where that is not 0.
    out.compare_at(minus, zero, {less, bound.is_zero() ? equal : less, less});
  }
  return product(out, all(), std::logical_and<bool>());
}

// Whole numbers as a tree of their digits; the others one by one.
Numerals Numerals::listed(std::span<const Decimal> numbers) {
  Numerals whole;
  const uint32_t start = whole.add(false);
  const uint32_t point = whole.add(false);
  const uint32_t zeros = whole.add(true);
  for (const uint32_t from : {point, zeros}) whole.link(from, 0, 0, zeros);
  const auto add = [&](std::string_view text) {
    uint32_t at = start;
    for (const char c : text) {
      const uint32_t symbol = c == '-' ? kMinus : static_cast<uint32_t>(c - '0');
      if (whole.states_[at].next[symbol] == 0) whole.link(at, symbol, symbol, whole.add(false));
      at = whole.states_[at].next[symbol];
    }
    whole.states_[at].accepts = true;
    whole.link(at, kPoint, kPoint, point);
  };
  Numerals others;
  for (const Decimal& number : numbers) {
    if (!number.fraction.empty()) {
      others = either(others, compared(number, false, true, false));
      continue;
    }
    add(fmt::format("{}{}", number.negative ? "-" : "", number.whole));
    if (number.is_zero()) add("-0");
  }
  whole.minimize();
  return either(whole, others);
}

std::optional<Numerals> Numerals::multiples_of(const Decimal& step) {
  // step = modulus * 10^-scale, or modulus * 10^zeros: so many zeros end what is a multiple.
  std::string digits = step.whole + step.fraction;
  digits.erase(0, std::min(digits.find_first_not_of('0'), digits.size()));
  const size_t scale = step.fraction.size();
  size_t zeros = 0;
  while (scale == 0 && digits.size() > 1 && digits.ends_with('0')) {
    digits.pop_back();
    ++zeros;
  }
  if (digits.empty() || digits.size() > 6) return std::nullopt;
  uint32_t modulus = 0;
  for (const char digit : digits) modulus = modulus * 10 + static_cast<uint32_t>(digit - '0');
  if (modulus > kMostSteps || modulus * (zeros + scale + 2) > kMostStates) return std::nullopt;
  // What is read so far is, with `shift` digits still to come before the place of the step, a
  // number whose remainder is kept. With zeros, the last digits are put off until it is known that
  // they are zeros: a run of them is counted, and goes into the remainder as far as it is too long.
  Numerals out;
  const uint32_t start = out.add(false);
  out.link(start, kMinus, kMinus, start);
  const auto times10 = [&](uint32_t r, uint32_t digit) { return (r * 10 + digit) % modulus; };
  std::vector<uint32_t> whole;  // [run of zeros][remainder of what stands before the run]
  for (size_t run = 0; run <= zeros; ++run) {
    for (uint32_t r = 0; r < modulus; ++r) whole.push_back(out.add(false));
  }
  std::vector<uint32_t> places;  // [digits behind the point][remainder]
  for (size_t j = 0; j <= scale; ++j) {
    for (uint32_t r = 0; r < modulus; ++r) places.push_back(out.add(false));
  }
  const auto multiple_after = [&](uint32_t r, size_t n_more) {
    for (size_t i = 0; i < n_more; ++i) r = times10(r, 0);
    return r == 0;
  };
  // A zero alone is a multiple of everything, however few zeros it ends with.
  const uint32_t zero = out.add(true);
  out.link(start, 0, 0, zero);
  const auto whole_at = [&](size_t run, uint32_t r) { return whole[run * modulus + r]; };
  const auto after_digit = [&](size_t run, uint32_t r, uint32_t digit) {
    if (digit == 0 && run < zeros) return whole_at(run + 1, r);
    if (digit == 0) return whole_at(run, times10(r, 0));
    for (size_t i = 0; i < run; ++i) r = times10(r, 0);
    return whole_at(0, times10(r, digit));
  };
  for (uint32_t digit = 1; digit <= 9; ++digit)
    out.link(start, digit, digit, after_digit(0, 0, digit));
  for (size_t run = 0; run <= zeros; ++run) {
    for (uint32_t r = 0; r < modulus; ++r) {
      const uint32_t from = whole_at(run, r);
      for (uint32_t digit = 0; digit <= 9; ++digit)
        out.link(from, digit, digit, after_digit(run, r, digit));
      const bool fits = run == zeros && multiple_after(r, scale);
      out.states_[from].accepts = fits;
      // Behind the point of a step with zeros only zeros may come.
      if (scale > 0 || fits) out.link(from, kPoint, kPoint, places[r]);
    }
  }
  out.link(zero, kPoint, kPoint, places[0]);
  for (size_t j = 0; j <= scale; ++j) {
    for (uint32_t r = 0; r < modulus; ++r) {
      const uint32_t from = places[j * modulus + r];
      out.states_[from].accepts = multiple_after(r, scale - j);
      if (j == scale) {
        out.link(from, 0, 0, from);
        continue;
      }
      for (uint32_t digit = 0; digit <= 9; ++digit) {
        out.link(from, digit, digit, places[(j + 1) * modulus + times10(r, digit)]);
      }
    }
  }
  return product(out, all(), std::logical_and<bool>());
}

Numerals Numerals::both(const Numerals& a, const Numerals& b) {
  if (a == b || b == all()) return a;
  if (a == all()) return b;
  return product(a, b, std::logical_and<bool>());
}

Numerals Numerals::either(const Numerals& a, const Numerals& b) {
  if (a == b || b.is_none()) return a;
  if (a.is_none()) return b;
  return product(a, b, std::logical_or<bool>());
}

Numerals Numerals::without(const Numerals& a, const Numerals& b) {
  if (b.is_none()) return a;
  return product(a, b, [](bool x, bool y) { return x && !y; });
}

// By splitting classes of states until none tells two of its states apart (Moore 1956).
void Numerals::minimize() {
  using Signature = std::array<uint32_t, kSymbols + 1>;
  struct Hash {
    size_t operator()(const Signature& signature) const {
      uint64_t hash = 0;
      for (const uint32_t part : signature)
        hash = (hash ^ part) * 0x9E3779B97F4A7C15u + (hash >> 29);
      return static_cast<size_t>(hash);
    }
  };
  std::vector<uint32_t> classes(states_.size());
  for (size_t i = 0; i < states_.size(); ++i) classes[i] = states_[i].accepts ? 1 : 0;
  for (size_t n_classes = 0;;) {
    std::unordered_map<Signature, uint32_t, Hash> found;
    std::vector<uint32_t> finer(states_.size());
    for (size_t i = 0; i < states_.size(); ++i) {
      Signature signature{classes[i]};
      for (uint32_t symbol = 0; symbol < kSymbols; ++symbol) {
        signature[symbol + 1] = classes[states_[i].next[symbol]];
      }
      finer[i] = found.emplace(signature, static_cast<uint32_t>(found.size())).first->second;
    }
    classes = std::move(finer);
    if (found.size() == n_classes) break;
    n_classes = found.size();
  }
  // One state of each class, from the start on; that of state 0 stays 0.
  std::vector<State> out{State{}};
  std::unordered_map<uint32_t, uint32_t> numbers{{classes[0], 0}};
  std::vector<uint32_t> order{0};
  const auto number_of = [&](uint32_t state) {
    const auto [place, is_new] =
        numbers.emplace(classes[state], static_cast<uint32_t>(order.size()));
    if (is_new) order.push_back(state);
    return place->second;
  };
  if (states_.size() > 1) number_of(1);
  for (size_t at = 1; at < order.size(); ++at) {
    State state{states_[order[at]].accepts, {}};
    for (uint32_t symbol = 0; symbol < kSymbols; ++symbol) {
      state.next[symbol] = number_of(states_[order[at]].next[symbol]);
    }
    out.push_back(state);
  }
  states_ = std::move(out);
}

// In the fewest states, each but 0 leads to one that accepts, so a way back to itself is endless.
bool Numerals::is_finite() const {
  enum : uint8_t { kNew, kOpen, kDone };
  std::vector<uint8_t> marks(states_.size(), kNew);
  std::vector<std::pair<uint32_t, uint32_t>> path;
  if (is_none()) return true;
  path.emplace_back(1, 0);
  marks[0] = kDone;
  marks[1] = kOpen;
  while (!path.empty()) {
    auto& [state, symbol] = path.back();
    if (symbol == kSymbols) {
      marks[state] = kDone;
      path.pop_back();
      continue;
    }
    const uint32_t next = states_[state].next[symbol++];
    if (marks[next] == kOpen) return false;
    if (marks[next] == kNew) {
      marks[next] = kOpen;
      path.emplace_back(next, 0);
    }
  }
  return true;
}

// Those with few digits before the point.
Numerals Numerals::short_ones() {
  static constexpr uint32_t kMostDigits = 40;
  Numerals out;
  const uint32_t start = out.add(false);
  const uint32_t minus = out.add(false);
  const uint32_t fraction = out.add(true);
  out.link(start, kMinus, kMinus, minus);
  out.link(fraction, 0, 9, fraction);
  std::vector<uint32_t> from{start, minus};
  for (uint32_t n = 0; n < kMostDigits; ++n) {
    const uint32_t digit = out.add(true);
    for (const uint32_t before : from) out.link(before, 0, 9, digit);
    out.link(digit, kPoint, kPoint, fraction);
    from = {digit};
  }
  out.minimize();
  return out;
}

Expression Numerals::expression(Expressions& expressions, bool is_short) const {
  static const Numerals kPlain = spelled(Spelling::kInteger);
  static const Numerals kShortest = spelled(Spelling::kShortest);
  static const Numerals kUnsigned0 = spelled(Spelling::kUnsigned0);
  Numerals written = both(*this, kPlain);
  if (!without(*this, integers()).is_none()) {
    written = both(*this, kShortest);
    if (!written.is_finite()) written = both(*this, kUnsigned0);
  }
  if (is_short && !written.is_finite()) {
    static const Numerals kShort = short_ones();
    written = both(written, kShort);
  }
  std::vector<AutomatonState> states(written.states_.size());
  for (size_t i = 0; i < states.size(); ++i) {
    states[i].accepts = written.states_[i].accepts;
    for (uint32_t symbol = 0; symbol < kSymbols; ++symbol) {
      const uint32_t to = written.states_[i].next[symbol];
      if (to == 0) continue;
      auto& edges = states[i].next;
      auto edge = std::ranges::find(edges, to, &AutomatonState::Edge::to);
      if (edge == edges.end()) edge = edges.insert(edge, {ByteSet(), to});
      edge->bytes.add(static_cast<uint8_t>("0123456789-."[symbol]));
    }
  }
  const Expression out = expressions.automaton(states, written.is_none() ? 0 : 1);
  if (*this != all()) return out;
  const auto set = [&](std::string_view members) {
    ByteSet bytes;
    for (const char c : members) bytes.add(static_cast<uint8_t>(c));
    return expressions.bytes(bytes);
  };
  // More would soon be a number that a double, and so most readers of JSON, cannot hold.
  const Expression digits = expressions.repeat(set("0123456789"), 1, 2);
  return expressions.sequence({out, expressions.optional(expressions.sequence(
                                        {set("eE"), expressions.optional(set("+-")), digits}))});
}

}  // namespace puna::grammar
