// The class of a code point, as far as pre-tokenizers ask for it: Unicode 16.0, from
// tools/make_unicode_tables.py.
#pragma once

#include <cstdint>

namespace puna::tokenizer {

// General categories (one letter: all categories that begin with it). The order is that of the
// generator.
enum class CharClass : uint8_t {
  kOther,         // control, format, private use, unassigned; also a byte that is no UTF-8
  kUpper,         // Lu
  kLower,         // Ll
  kTitle,         // Lt
  kModifier,      // Lm
  kOtherLetter,   // Lo
  kMark,          // M
  kNumber,        // N
  kPunctuation,   // P
  kSymbol,        // S
  kSeparator,     // Z; all of them are White_Space
  kSpaceControl,  // Cc that is White_Space: U+0009 to U+000D and U+0085
};

namespace detail {
extern const uint8_t kBlockOfCodePoint[];  // by code point / 128
extern const uint8_t
    kClassesOfBlock[];  // 64 bytes a block, two classes a byte, the lower one first
}  // namespace detail

inline CharClass class_of(char32_t code_point) {
  if (code_point > 0x10FFFF) return CharClass::kOther;
  const uint32_t block = detail::kBlockOfCodePoint[code_point / 128];
  const uint8_t pair = detail::kClassesOfBlock[block * 64 + code_point % 128 / 2];
  return static_cast<CharClass>(code_point % 2 == 0 ? pair & 15 : pair >> 4);
}

}  // namespace puna::tokenizer
