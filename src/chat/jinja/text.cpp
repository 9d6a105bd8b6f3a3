#include "chat/jinja/text.h"

#include <algorithm>
#include <utility>

#include "base/utf8.h"
#include "chat/jinja/unicode.h"

namespace puna::chat::jinja {
namespace {

constexpr uint32_t kInvalid = 0xFFFD;

bool in(uint32_t c, uint32_t first, uint32_t last) { return c >= first && c <= last; }

// Appends what a case map makes of `c`; false when it says nothing.
bool append_mapped(std::string& out, const CaseMap& map, uint32_t c) {
  const auto text = std::ranges::lower_bound(map.texts, c, {}, &CaseText::code_point);
  if (text != map.texts.end() && text->code_point == c) {
    out += text->text;
    return true;
  }
  const auto range = std::ranges::lower_bound(map.ranges, c, {}, &CaseRange::last);
  if (range == map.ranges.end() || c < range->first || (c - range->first) % range->step != 0)
    return false;
  append_utf8(out, static_cast<uint32_t>(static_cast<int64_t>(c) + range->delta));
  return true;
}

// Rewrites every code point by the map that `choose` gives for it; invalid bytes pass.
template <class Choose>
std::string rewritten(std::string_view text, Choose&& choose) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size();) {
    const CodePoint c = code_point_at(text, i);
    const CaseMap& map = choose(c.value, i);
    const bool titles = &map == &kTitle;
    if (!append_mapped(out, map, c.value) && !(titles && append_mapped(out, kUpper, c.value)))
      out += text.substr(i, c.bytes);
    i += c.bytes;
  }
  return out;
}

bool is_cased(uint32_t c) { return is_upper(c) || is_lower(c); }

// Characters that do not part a word, where the end of one is looked for.
bool is_passed_over(uint32_t c) {
  return c == '\'' || c == '.' || c == ':' || c == '^' || c == '`' || c == 0xA8 || c == 0xAD ||
         c == 0xAF || c == 0xB4 || c == 0xB7 || c == 0xB8 || in(c, 0x300, 0x36F) ||
         in(c, 0x2018, 0x2019) || in(c, 0x200B, 0x200F);
}

// The small sigma has another form at the end of a word.
bool ends_word(std::string_view text, size_t at) {
  size_t before = at;
  bool follows = false;
  while (before > 0 && !follows) {
    before -= base::utf8_previous_bytes(text, before);
    const uint32_t c = code_point_at(text, before).value;
    if (!is_passed_over(c) && !is_cased(c)) break;
    follows = is_cased(c) && !is_passed_over(c);
  }
  if (!follows) return false;
  for (size_t i = at + code_point_at(text, at).bytes; i < text.size();) {
    const CodePoint c = code_point_at(text, i);
    if (!is_passed_over(c.value)) return !is_cased(c.value);
    i += c.bytes;
  }
  return true;
}

constexpr CaseText kFinalSigma[] = {{0x3A3, "\xcf\x82"}};
const CaseMap kLowerAtEnd = {{}, kFinalSigma};

const CaseMap& lower_map(std::string_view text, uint32_t c, size_t at) {
  return c == 0x3A3 && ends_word(text, at) ? kLowerAtEnd : kLower;
}

bool strips(std::string_view piece, uint32_t value, const std::string_view* set) {
  if (!set) return is_space(value);
  for (size_t i = 0; i < set->size();) {
    const size_t bytes = code_point_at(*set, i).bytes;
    if (set->substr(i, bytes) == piece) return true;
    i += bytes;
  }
  return false;
}

}  // namespace

CodePoint code_point_at(std::string_view text, size_t at) {
  const base::Utf8Unit unit = base::utf8_next(text, at);
  if (unit.code_point == base::kInvalidCodePoint) return {kInvalid, 1};
  return {static_cast<uint32_t>(unit.code_point), unit.bytes};
}

void append_utf8(std::string& out, uint32_t c) {
  base::utf8_append(out, c > 0x10FFFF || in(c, 0xD800, 0xDFFF) ? kInvalid : c);
}

int64_t count_code_points(std::string_view text) {
  int64_t n = 0;
  for (size_t i = 0; i < text.size(); i += code_point_at(text, i).bytes) ++n;
  return n;
}

std::vector<std::string_view> split_code_points(std::string_view text) {
  std::vector<std::string_view> pieces;
  for (size_t i = 0; i < text.size();) {
    const size_t bytes = code_point_at(text, i).bytes;
    pieces.push_back(text.substr(i, bytes));
    i += bytes;
  }
  return pieces;
}

std::vector<std::string_view> split_lines(std::string_view text, bool keep_ends) {
  std::vector<std::string_view> lines;
  size_t start = 0;
  for (size_t i = 0; i < text.size();) {
    const CodePoint c = code_point_at(text, i);
    const size_t end = i;
    i += c.bytes;
    if (!in(c.value, 0x0A, 0x0D) && !in(c.value, 0x1C, 0x1E) && c.value != 0x85 &&
        !in(c.value, 0x2028, 0x2029))
      continue;
    if (c.value == '\r' && i < text.size() && text[i] == '\n') ++i;
    lines.push_back(text.substr(start, (keep_ends ? i : end) - start));
    start = i;
  }
  if (start < text.size()) lines.push_back(text.substr(start));
  return lines;
}

bool is_space(uint32_t c) {
  return in(c, 0x09, 0x0D) || in(c, 0x1C, 0x20) || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         in(c, 0x2000, 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F ||
         c == 0x3000;
}

std::string_view trim_left(std::string_view text, const std::string_view* set) {
  while (!text.empty()) {
    const CodePoint c = code_point_at(text, 0);
    if (!strips(text.substr(0, c.bytes), c.value, set)) break;
    text.remove_prefix(c.bytes);
  }
  return text;
}

std::string_view trim_right(std::string_view text, const std::string_view* set) {
  while (!text.empty()) {
    const size_t start = text.size() - base::utf8_previous_bytes(text, text.size());
    if (!strips(text.substr(start), code_point_at(text, start).value, set)) break;
    text = text.substr(0, start);
  }
  return text;
}

std::string_view trim(std::string_view text, const std::string_view* set) {
  return trim_right(trim_left(text, set), set);
}

bool is_in(std::span<const CodePointRange> set, uint32_t c) {
  const auto range = std::ranges::lower_bound(set, c, {}, &CodePointRange::last);
  return range != set.end() && c >= range->first;
}

bool is_letter(uint32_t c) { return is_in(kLetters, c); }
bool is_decimal(uint32_t c) { return is_in(kDecimals, c); }
bool is_word_part(uint32_t c) { return c == '_' || is_letter(c) || is_in(kNumerics, c); }
bool is_printable(uint32_t c) { return is_in(kPrintables, c); }
bool is_upper(uint32_t c) { return is_in(kUppers, c); }
bool is_lower(uint32_t c) { return is_in(kLowers, c); }

namespace {
bool has_only(std::string_view text, bool (*wanted)(uint32_t), bool (*other)(uint32_t)) {
  bool any = false;
  for (size_t i = 0; i < text.size();) {
    const CodePoint c = code_point_at(text, i);
    if (other(c.value)) return false;
    any |= wanted(c.value);
    i += c.bytes;
  }
  return any;
}
}  // namespace

bool is_upper_text(std::string_view text) { return has_only(text, is_upper, is_lower); }
bool is_lower_text(std::string_view text) { return has_only(text, is_lower, is_upper); }

std::string to_upper(std::string_view text) {
  return rewritten(text, [](uint32_t, size_t) -> const CaseMap& { return kUpper; });
}

std::string to_lower(std::string_view text) {
  return rewritten(text,
                   [&](uint32_t c, size_t at) -> const CaseMap& { return lower_map(text, c, at); });
}

std::string case_folded(std::string_view text) {
  return rewritten(text, [](uint32_t, size_t) -> const CaseMap& { return kFold; });
}

std::string capitalize(std::string_view text) {
  return rewritten(text, [&](uint32_t c, size_t at) -> const CaseMap& {
    return at == 0 ? kTitle : lower_map(text, c, at);
  });
}

std::string title_case(std::string_view text) {
  bool inside = false;
  return rewritten(text, [&](uint32_t c, size_t at) -> const CaseMap& {
    return std::exchange(inside, is_cased(c)) ? lower_map(text, c, at) : kTitle;
  });
}

std::string swap_case(std::string_view text) {
  return rewritten(text, [&](uint32_t c, size_t at) -> const CaseMap& {
    return is_lower(c) ? kUpper : lower_map(text, c, at);
  });
}

std::string html_escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&#34;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

}  // namespace puna::chat::jinja
