// The mark that sentencepiece writes for a space, U+2581. Inside this room pieces and text have a
// plain space for it, so text without the mark is used in place.
#pragma once

#include <deque>
#include <string>
#include <string_view>

#include "base/hex.h"
#include "tokenizer/vocabulary.h"

namespace puna::tokenizer {

inline constexpr std::string_view kSpaceMark = "\xE2\x96\x81";

inline void append_with_spaces(std::string& out, std::string_view text) {
  for (size_t at = 0;;) {
    const size_t mark = text.find(kSpaceMark, at);
    out.append(text.substr(at, mark - at));
    if (mark == std::string_view::npos) return;
    out.push_back(' ');
    at = mark + kSpaceMark.size();
  }
}

// The text with spaces for marks, and one more in front when asked for and there is text.
inline std::string_view with_spaces(std::string_view text, bool prefix,
                                    std::deque<std::string>& kept) {
  prefix &= !text.empty();
  if (!prefix && text.find(kSpaceMark) == std::string_view::npos) return text;
  std::string& out = kept.emplace_back(prefix ? 1 : 0, ' ');
  append_with_spaces(out, text);
  return out;
}

// Whether the rule puts a space in front of this part of the text, after the normalizer (kAlways
// has put its own before).
inline bool needs_prefix(SpacePrefix rule, std::string_view part, bool at_start) {
  if (rule != SpacePrefix::kUnlessSpace && rule != SpacePrefix::kFirstUnlessSpace) return false;
  if (rule == SpacePrefix::kFirstUnlessSpace && !at_start) return false;
  return !part.starts_with(' ') && !part.starts_with(kSpaceMark);
}

// The byte of "<0x41>", or -1.
inline int byte_of(std::string_view token) {
  if (token.size() != 6 || !token.starts_with("<0x") || token[5] != '>') return -1;
  const auto byte = base::hex_byte(token.substr(3, 2));
  return byte ? static_cast<unsigned char>(*byte) : -1;
}

}  // namespace puna::tokenizer
