#include "tokenizer/normal_form.h"

#include <algorithm>
#include <span>
#include <tuple>
#include <vector>

#include "base/utf8.h"

namespace puna::tokenizer {

namespace {

// Hangul syllables are composed by arithmetic (Unicode, section 3.12).
constexpr char32_t kSyllables = 0xAC00, kLeads = 0x1100, kVowels = 0x1161, kTrails = 0x11A7;
constexpr uint32_t kLeadCount = 19, kVowelCount = 21, kTrailCount = 28;
constexpr uint32_t kSyllableCount = kLeadCount * kVowelCount * kTrailCount;

struct Character {
  char32_t code_point;
  uint8_t combining_class;
  uint32_t place = 0;  // among the marks it is sorted with, which keep their order where equal
};

uint8_t flag_of(NormalForm form) {
  constexpr uint8_t kFlags[] = {detail::kNotNfc, detail::kNotNfkc, detail::kNotNfd,
                                detail::kNotNfkd};
  return kFlags[static_cast<size_t>(form)];
}

uint8_t combining_class(char32_t code_point) {
  const std::span table(detail::kCombining, detail::kCombiningCount);
  const auto it = std::lower_bound(
      table.begin(), table.end(), code_point,
      [](const detail::CombiningRange& range, char32_t c) { return range.high < c; });
  return it != table.end() && it->low <= code_point ? it->combining_class : uint8_t{0};
}

const detail::Decomposition* find_decomposition(char32_t code_point, bool compatible) {
  const std::span table(detail::kDecompositions, detail::kDecompositionCount);
  const auto it =
      std::lower_bound(table.begin(), table.end(), code_point,
                       [](const detail::Decomposition& d, char32_t c) { return d.code_point < c; });
  const detail::Decomposition* found = nullptr;  // canonical entries stand before compatible ones
  for (auto at = it; at != table.end() && at->code_point == code_point; ++at) {
    if (at->compatible <= uint8_t{compatible}) found = &*at;
  }
  return found;
}

void decompose(char32_t c, bool compatible, std::vector<Character>& out) {
  if (c - kSyllables < kSyllableCount) {
    const auto index = static_cast<uint32_t>(c - kSyllables);
    out.push_back({kLeads + index / (kVowelCount * kTrailCount), 0});
    out.push_back({kVowels + index % (kVowelCount * kTrailCount) / kTrailCount, 0});
    if (index % kTrailCount != 0) out.push_back({kTrails + index % kTrailCount, 0});
    return;
  }
  const detail::Decomposition* d = find_decomposition(c, compatible);
  if (d == nullptr) return out.push_back({c, combining_class(c)});
  for (uint32_t i = 0; i < d->length; ++i) {
    const char32_t part = detail::kDecomposed[d->at + i];
    out.push_back({part, combining_class(part)});
  }
}

// What two characters make together, or 0.
char32_t compose(char32_t first, char32_t second) {
  if (first - kLeads < kLeadCount && second - kVowels < kVowelCount) {
    return kSyllables + ((first - kLeads) * kVowelCount + (second - kVowels)) * kTrailCount;
  }
  if (first - kSyllables < kSyllableCount && (first - kSyllables) % kTrailCount == 0 &&
      second - kTrails - 1 < kTrailCount - 1) {
    return first + (second - kTrails);
  }
  const std::span table(detail::kCompositions, detail::kCompositionCount);
  const auto it =
      std::lower_bound(table.begin(), table.end(), std::pair(first, second),
                       [](const detail::Composition& c, std::pair<char32_t, char32_t> pair) {
                         return std::pair(c.first, c.second) < pair;
                       });
  return it != table.end() && it->first == first && it->second == second ? it->composed : 0;
}

// Composes in place: each mark goes into the last starter unless one of its own class or a starter
// stands in between.
void compose_all(std::vector<Character>& text) {
  size_t kept = 0, starter = text.size();
  int last_class = -1;  // of what stands between starter and here; -1: nothing
  for (size_t i = 0; i < text.size(); ++i) {
    const Character c = text[i];
    if (starter < kept && last_class < int{c.combining_class}) {
      if (const char32_t composed = compose(text[starter].code_point, c.code_point)) {
        text[starter].code_point = composed;
        continue;
      }
    }
    if (c.combining_class == 0) {
      starter = kept;
      last_class = -1;
    } else {
      last_class = c.combining_class;
    }
    text[kept++] = c;
  }
  text.resize(kept);
}

void append_segment(std::string_view text, NormalForm form, std::vector<Character>& buffer,
                    std::string& out) {
  buffer.clear();
  const bool compatible = form == NormalForm::kNfkc || form == NormalForm::kNfkd;
  for (size_t at = 0; at < text.size();) {
    const base::Utf8Unit unit = base::utf8_next(text, at);
    decompose(unit.code_point, compatible, buffer);
    at += unit.bytes;
  }
  for (auto begin = buffer.begin(); begin != buffer.end();) {
    const auto is_starter = [](const Character& c) { return c.combining_class == 0; };
    begin = std::find_if_not(begin, buffer.end(), is_starter);
    const auto end = std::find_if(begin, buffer.end(), is_starter);
    for (auto c = begin; c != end; ++c) c->place = static_cast<uint32_t>(c - begin);
    std::sort(begin, end, [](const Character& a, const Character& b) {
      return std::tie(a.combining_class, a.place) < std::tie(b.combining_class, b.place);
    });
    begin = end;
  }
  if (form == NormalForm::kNfc || form == NormalForm::kNfkc) compose_all(buffer);
  for (const Character& c : buffer) base::utf8_append(out, c.code_point);
}

}  // namespace

size_t normal_prefix(std::string_view text, NormalForm form) {
  const uint8_t flag = flag_of(form);
  size_t starter = 0;  // the last character that may still be changed by what follows
  for (size_t at = 0; at < text.size();) {
    if (static_cast<unsigned char>(text[at]) < 0x80) {
      starter = at++;
      continue;
    }
    const base::Utf8Unit unit = base::utf8_next(text, at);
    if ((text_flags(unit.code_point) & flag) != 0) return starter;
    starter = at;
    at += unit.bytes;
  }
  return text.size();
}

void append_normal(std::string_view text, NormalForm form, std::string& out) {
  const uint8_t flag = flag_of(form);
  std::vector<Character> buffer;
  while (!text.empty()) {
    const size_t same = normal_prefix(text, form);
    out.append(text.substr(0, same));
    text.remove_prefix(same);
    // What may change ends before the next character that neither changes nor joins; the first one
    // of `text` may be such a character, which others go into. A byte that is no UTF-8 ends it too.
    size_t end = 0;
    while (end < text.size()) {
      const base::Utf8Unit unit = base::utf8_next(text, end);
      if (unit.code_point == base::kInvalidCodePoint) break;
      if (end > 0 && (text_flags(unit.code_point) & flag) == 0) break;
      end += unit.bytes;
    }
    if (end == 0 && !text.empty()) {
      out.push_back(text[0]);
      text.remove_prefix(1);
      continue;
    }
    append_segment(text.substr(0, end), form, buffer, out);
    text.remove_prefix(end);
  }
}

void append_lower(char32_t c, std::string& out) {
  if (c < 0x80) return out.push_back(static_cast<char>(c - U'A' < 26 ? c | 0x20 : c));
  if (c == 0x130) {
    out.append("i\xCC\x87");
    return;
  }
  const std::span table(detail::kLower, detail::kLowerCount);
  const auto it =
      std::lower_bound(table.begin(), table.end(), c,
                       [](const detail::LowerRange& range, char32_t v) { return range.high < v; });
  const bool inside = it != table.end() && it->low <= c && (c - it->low) % it->step == 0;
  base::utf8_append(out,
                    inside ? static_cast<char32_t>(static_cast<int32_t>(c) + it->distance) : c);
}

}  // namespace puna::tokenizer
