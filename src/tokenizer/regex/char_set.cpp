#include "tokenizer/regex/char_set.h"

#include <algorithm>
#include <span>
#include <string>

namespace puna::tokenizer {

namespace {

std::string loosely(std::string_view name) {
  std::string out;
  for (const char c : name) {
    if (c == ' ' || c == '_' || c == '-') continue;
    out.push_back(static_cast<char>(c >= 'A' && c <= 'Z' ? c | 0x20 : c));
  }
  return out;
}

constexpr std::pair<std::string_view, std::string_view> kAliases[] = {
    {"letter", "l"},    {"uppercaseletter", "lu"}, {"lowercaseletter", "ll"}, {"mark", "m"},
    {"number", "n"},    {"decimalnumber", "nd"},   {"punctuation", "p"},      {"symbol", "s"},
    {"separator", "z"}, {"space", "posix:space"},  {"control", "cc"},         {"other", "c"}};

}  // namespace

namespace detail {

char32_t next_fold(char32_t code_point) {
  const FoldPair* end = kFolds + kFoldCount;
  const FoldPair* at = std::lower_bound(
      kFolds, end, code_point, [](const FoldPair& pair, char32_t c) { return pair.from < c; });
  return at != end && at->from == code_point ? at->to : code_point;
}

}  // namespace detail

std::optional<CharSet> CharSet::named(std::string_view name) {
  std::string wanted = loosely(name);
  for (const auto& [alias, property] : kAliases) {
    if (wanted == alias) wanted = property;
  }
  for (const auto& row : std::span(detail::kProperties, detail::kPropertyCount)) {
    const std::string_view known(row.name);
    // \p{alpha} is the POSIX class too.
    if (loosely(known) != wanted && !(known.starts_with("posix:") && known.substr(6) == wanted))
      continue;
    CharSet out;
    const std::span bytes(detail::kPropertyBytes + row.at, row.bytes);
    size_t i = 0;
    const auto number = [&] {
      uint32_t value = 0;
      for (int shift = 0; i < bytes.size(); shift += 7) {
        const uint8_t byte = bytes[i++];
        value |= uint32_t{byte & 0x7Fu} << shift;
        if (byte < 0x80) break;
      }
      return value;
    };
    for (char32_t at = 0; i < bytes.size();) {
      const char32_t low = at + number();
      const char32_t high = low + number();
      out.ranges_.push_back({low, high});
      at = high + 1;
    }
    return out;
  }
  return {};
}

void CharSet::sort() {
  std::sort(ranges_.begin(), ranges_.end(),
            [](const Range& a, const Range& b) { return a.low < b.low; });
  std::vector<Range> out;
  for (const Range& range : ranges_) {
    if (!out.empty() && range.low <= out.back().high + 1) {
      out.back().high = std::max(out.back().high, range.high);
    } else {
      out.push_back(range);
    }
  }
  ranges_ = std::move(out);
}

void CharSet::add(const CharSet& other) {
  ranges_.insert(ranges_.end(), other.ranges_.begin(), other.ranges_.end());
  sort();
}

void CharSet::negate() {
  std::vector<Range> out;
  char32_t next = 0;
  for (const Range& range : ranges_) {
    if (range.low > next) out.push_back({next, range.low - 1});
    next = range.high + 1;
  }
  if (next <= kLast) out.push_back({next, kLast});
  ranges_ = std::move(out);
}

void CharSet::intersect(const CharSet& other) {
  CharSet outside = other;
  outside.negate();
  negate();
  add(outside);
  negate();
}

void CharSet::fold() {
  CharSet more;
  for (const auto& pair : std::span(detail::kFolds, detail::kFoldCount)) {
    if (!contains(pair.from)) continue;
    for_each_fold(pair.from, [&](char32_t c) { more.ranges_.push_back({c, c}); });
  }
  add(more);
}

bool CharSet::contains(char32_t code_point) const {
  const auto it = std::upper_bound(ranges_.begin(), ranges_.end(), code_point,
                                   [](char32_t c, const Range& range) { return c < range.low; });
  return it != ranges_.begin() && code_point <= std::prev(it)->high;
}

}  // namespace puna::tokenizer
