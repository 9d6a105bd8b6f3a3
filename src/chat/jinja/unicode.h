// What Python's str methods know of characters: kinds and case. The tables are in unicode_data.cpp.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace puna::chat::jinja {

struct CodePointRange {
  uint32_t first, last;
};

// Every `step`-th character of a range becomes the one `delta` behind it.
struct CaseRange {
  uint32_t first, last, step;
  int32_t delta;
};

// What becomes several characters, as UTF-8.
struct CaseText {
  uint32_t code_point;
  std::string_view text;
};

struct CaseMap {
  std::span<const CaseRange> ranges;
  std::span<const CaseText> texts;
};

extern const std::span<const CodePointRange> kLetters, kDecimals, kDigits, kNumerics, kPrintables,
    kUppers, kLowers;
// kTitle has only what does not title as its capital.
extern const CaseMap kUpper, kLower, kTitle, kFold;

bool is_in(std::span<const CodePointRange> set, uint32_t code_point);

}  // namespace puna::chat::jinja
