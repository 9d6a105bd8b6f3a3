// Arrays as rules. Without counts of items, stretches of items of one term are repetitions; with
// counts, an automaton over what was counted so far.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "grammar/json_schema/writer.h"

namespace puna::grammar {

using base::ErrorCode;
using base::fail;
using base::Json;
using base::Result;

namespace {
constexpr size_t kMostUniqueValues = 8;
constexpr size_t kMostCounts = 6;
}  // namespace

TermId RuleWriter::item_term(const ArrayShape& shape, uint64_t index) {
  std::vector<TermId> parts;
  for (const ArrayShape::Items& items : shape.items) {
    if (items.from <= index && index < items.to) parts.push_back(items.term);
  }
  return reader_.terms().every(parts);
}

Result<Symbol> RuleWriter::array(const ArrayShape& shape) {
  const bool unique = shape.unique && shape.most > 1;
  return shape.counts.empty() && !unique ? plain_array(shape) : counted_array(shape);
}

// From the last stretch to the first: what may come from its start on, with a comma before each
// item but that of index 0, which is a stretch of its own.
Result<Symbol> RuleWriter::plain_array(const ArrayShape& shape) {
  std::vector<uint64_t> bounds{0, 1, kEndless};
  for (const ArrayShape::Items& items : shape.items) {
    bounds.push_back(items.from);
    bounds.push_back(items.to);
  }
  std::ranges::sort(bounds);
  const auto repeated = std::ranges::unique(bounds);
  bounds.erase(repeated.begin(), repeated.end());
  if (shape.least >= kUnbounded) {
    return over_limit("The least number of items is", kUnbounded - 1, "of counts");
  }
  Symbol rest = builder_.nothing();
  for (size_t i = bounds.size() - 1; i-- > 0;) {
    const uint64_t from = bounds[i];
    const uint64_t to = bounds[i + 1];
    if (from > shape.most) continue;
    const Symbol item = value(item_term(shape, from));
    const Symbol next = from == 0 ? item : builder_.sequence({comma_, item});
    // It ends within this stretch, or has all of it and goes on.
    std::vector<Symbol> ways;
    const uint64_t least = std::max(shape.least, from) - from;
    const uint64_t most = std::min(shape.most, to) - from;
    if (shape.least <= to && least <= most && (from > 0 || most > 0)) {
      const uint32_t upper = most >= kUnbounded ? kUnbounded : static_cast<uint32_t>(most);
      // The empty array is written apart.
      const uint64_t lower = from == 0 ? std::max<uint64_t>(least, 1) : least;
      ways.push_back(builder_.repeat(next, static_cast<uint32_t>(lower), upper));
    }
    if (to < shape.most) {
      const auto whole = static_cast<uint32_t>(to - from);
      ways.push_back(builder_.sequence({builder_.repeat(next, whole, whole), rest}));
    }
    rest = rule(std::move(ways));
  }
  std::vector<Symbol> ways{builder_.sequence({open_array_, rest, close_array_})};
  if (shape.most == 0) ways.clear();
  if (shape.least == 0) ways.push_back(empty_array_);
  return builder_.choice(ways);
}

// The values that items can have, for which each is taken at most once.
Result<std::vector<Json>> RuleWriter::values_of_items(const ArrayShape& shape) {
  for (const ArrayShape::Items& items : shape.items) {
    if (items.from > 0 || items.to != kEndless) continue;
    PUNA_TRY(auto listed, reader_.listed_values(items.term));
    if (!listed) continue;
    std::vector<Json> out;
    for (Json& value : *listed) {
      const bool known = std::ranges::any_of(out, [&](const Json& other) {
        return value == other ||
               (value.is_number() && other.is_number() && value.number() == other.number());
      });
      if (!known) out.push_back(std::move(value));
    }
    if (out.size() <= kMostUniqueValues) return out;
  }
  return fail(
      ErrorCode::kUnsupported,
      fmt::format("{}: \"uniqueItems\" is supported only for arrays of at most one item and "
                  "for items of at most {} listed values.",
                  reader_.path_of(writing_), kMostUniqueValues));
}

Result<Symbol> RuleWriter::counted_array(const ArrayShape& shape) {
  // How far an array is: items, as far as they matter; of each count, likewise; values taken.
  struct State {
    uint64_t index = 0;
    std::vector<uint64_t> counts;
    uint32_t taken = 0;
    auto operator<=>(const State&) const = default;
  };
  if (shape.counts.size() > kMostCounts) {
    return fail(ErrorCode::kUnsupported,
                fmt::format("{}: more than {} \"contains\" are not supported for one array.",
                            reader_.path_of(writing_), kMostCounts));
  }
  const bool unique = shape.unique && shape.most > 1;
  std::vector<TermId> choices{Terms::kAll};
  if (unique) {
    PUNA_TRY(auto listed, values_of_items(shape));
    kept_values_.push_back(std::make_unique<std::vector<Json>>(std::move(listed)));
    choices.clear();
    for (const Json& value : *kept_values_.back()) choices.push_back(reader_.terms().value(value));
  }
  // From this index on all items are alike. The array without items is a state apart.
  uint64_t last = std::max<uint64_t>({1, shape.least, shape.most == kEndless ? 0 : shape.most});
  const auto reach = [&](uint64_t bound) {
    if (bound != kEndless) last = std::max(last, bound);
  };
  for (const auto& items : shape.items) {
    reach(items.from);
    reach(items.to);
  }
  for (const auto& count : shape.counts) {
    reach(count.from);
    reach(count.to);
  }
  std::map<State, uint32_t> numbers;
  std::vector<const State*> states;
  std::vector<std::vector<Symbol>> ways;
  const auto number_of = [&](State state) {
    const auto [place, is_new] =
        numbers.emplace(std::move(state), static_cast<uint32_t>(states.size()));
    if (is_new) {
      states.push_back(&place->first);
      ways.emplace_back();
    }
    return place->second;
  };
  std::vector<Symbol> symbols;
  number_of({0, std::vector<uint64_t>(shape.counts.size()), 0});
  for (uint32_t at = 0; at < states.size(); ++at) {
    if (states.size() > builder_.limits().rules) return too_many_rules();
    if (at % 64 == 0) PUNA_TRY(builder_.deadline().check());
    while (symbols.size() < states.size()) symbols.push_back(builder_.declare("items"));
    const State from = *states[at];
    if (from.index == shape.most) continue;
    // Each way to count the next item: it is of the term, it is not, or that does not matter.
    struct Way {
      State to;
      std::vector<TermId> terms;
    };
    std::vector<Way> open;
    for (size_t i = 0; i < choices.size(); ++i) {
      if (unique && (from.taken >> i & 1) != 0) continue;
      Way way{from, {choices[i], item_term(shape, from.index)}};
      way.to.index = std::min(from.index + 1, last);
      if (unique) way.to.taken |= 1u << i;
      open.push_back(std::move(way));
    }
    for (size_t i = 0; i < shape.counts.size(); ++i) {
      const ArrayShape::Count& count = shape.counts[i];
      if (from.index < count.from || from.index >= count.to) continue;
      const bool enough = count.most == kEndless && from.counts[i] == count.least;
      if (enough) continue;
      std::vector<Way> next;
      for (const Way& way : open) {
        if (from.counts[i] < (count.most == kEndless ? count.least : count.most)) {
          next.push_back(way);
          ++next.back().to.counts[i];
          next.back().terms.push_back(count.term);
        }
        next.push_back(way);
        // Without an upper bound an item that is of the term need not be counted.
        if (count.most != kEndless)
          next.back().terms.push_back(reader_.terms().negation(count.term));
      }
      open = std::move(next);
    }
    for (Way& way : open) {
      const TermId term = reader_.terms().every(way.terms);
      if (term == Terms::kNone) continue;
      const uint32_t to = number_of(std::move(way.to));
      while (symbols.size() < states.size()) symbols.push_back(builder_.declare("items"));
      ways[to].push_back(at == 0 ? value(term)
                                 : builder_.sequence({symbols[at], comma_, value(term)}));
    }
  }
  std::vector<Symbol> out;
  for (uint32_t at = 0; at < states.size(); ++at) {
    builder_.define(symbols[at], builder_.choice(ways[at]));
    bool complete = states[at]->index >= shape.least;
    for (size_t i = 0; i < shape.counts.size(); ++i) {
      complete &= states[at]->counts[i] >= shape.counts[i].least;
    }
    if (!complete) continue;
    out.push_back(at == 0 ? empty_array_
                          : builder_.sequence({open_array_, symbols[at], close_array_}));
  }
  return builder_.choice(out);
}

}  // namespace puna::grammar
