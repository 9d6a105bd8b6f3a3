#include "tokenizer/split.h"

#include "base/utf8.h"
#include "tokenizer/unicode.h"

namespace puna::tokenizer {

namespace {
constexpr size_t kNoMatch = static_cast<size_t>(-1);
}

SplitExpression::SetMask SplitExpression::sets_at(std::string_view text, size_t at,
                                                  uint32_t& bytes) const {
  const auto byte = static_cast<unsigned char>(text[at]);
  if (byte < 0x80) {
    bytes = 1;
    return ascii_[byte];
  }
  const base::Utf8Unit unit = base::utf8_next(text, at);
  bytes = unit.bytes;
  SetMask sets = classes_[static_cast<size_t>(class_of(unit.code_point))];
  for (const Exception& e : exceptions_) {
    if (unit.code_point >= e.low && unit.code_point <= e.high)
      sets = e.member ? sets | e.set : sets & ~e.set;
  }
  return sets;
}

std::optional<Match> SplitExpression::search(std::string_view text, size_t from) const {
  uint32_t bytes = 0;
  for (size_t at = from; at < text.size(); at += bytes) {
    const SetMask sets = sets_at(text, at, bytes);
    uint64_t steps = 0;
    for (const Branch& branch : branches_) {
      if ((branch.first & sets) == 0) continue;
      const size_t end = match_items(branch.items, text, at, steps);
      if (end != kNoMatch) return Match{at, end};
      if (steps > kMostSteps) return {};
    }
  }
  return {};
}

// The end of the first match of all `items` from `at` on, trying long repeats before short ones.
// `steps` counts the items tried and the characters passed; beyond kMostSteps nothing matches.
size_t SplitExpression::match_items(std::span<const Item> items, std::string_view text, size_t at,
                                    uint64_t& steps) const {
  ++steps;
  if (items.empty()) return at;
  const Item& item = items[0];
  const auto rest = items.subspan(1);
  uint32_t bytes = 0;
  if (item.kind == Item::kNotBefore) {
    if (at < text.size() && (sets_at(text, at, bytes) & item.set) != 0) return kNoMatch;
    return match_items(rest, text, at, steps);
  }
  if (item.kind == Item::kLineEnd)
    return at == text.size() || text[at] == '\n' ? match_items(rest, text, at, steps) : kNoMatch;
  if (item.kind == Item::kGroup) return match_group(items, text, at, steps);
  uint32_t count = 0;
  size_t end = at;
  while (count < item.most && end < text.size() && (sets_at(text, end, bytes) & item.set) != 0) {
    end += bytes;
    ++count;
  }
  steps += count;
  while (count >= item.least) {
    const size_t found = match_items(rest, text, end, steps);
    if (found != kNoMatch || count == 0 || item.possessive) return found;
    if (steps > kMostSteps) return kNoMatch;
    end -= base::utf8_previous_bytes(text, end);
    --count;
  }
  return kNoMatch;
}

size_t SplitExpression::match_group(std::span<const Item> items, std::string_view text, size_t at,
                                    uint64_t& steps) const {
  const auto rest = items.subspan(1);
  for (const auto& alternative : groups_[items[0].group]) {
    size_t end = at;
    uint32_t bytes = 0;
    size_t matched = 0;
    while (matched < alternative.size() && end < text.size() &&
           (sets_at(text, end, bytes) & alternative[matched]) != 0) {
      end += bytes;
      ++matched;
    }
    steps += 1 + matched;
    if (matched == alternative.size()) {
      const size_t found = match_items(rest, text, end, steps);
      if (found != kNoMatch) return found;
    }
    if (steps > kMostSteps) return kNoMatch;
  }
  return items[0].least == 0 ? match_items(rest, text, at, steps) : kNoMatch;
}

}  // namespace puna::tokenizer
