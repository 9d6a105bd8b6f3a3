// Unicode's normal forms, small letters, and the kinds of characters that BERT's text steps ask
// for, as Hugging Face's library has them (tables: tools/make_unicode_tables.py). Source: UAX #15.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace puna::tokenizer {

enum class NormalForm : uint8_t { kNfc, kNfkc, kNfd, kNfkd };

// Appends `text` in the form to `out`. Bytes that are no UTF-8 stay as they are.
void append_normal(std::string_view text, NormalForm form, std::string& out);
// How many bytes at the start are in the form already and stay so whatever follows; text.size()
// when nothing is to be done.
size_t normal_prefix(std::string_view text, NormalForm form);

// Appends the small form of a character: one, but for U+0130.
void append_lower(char32_t code_point, std::string& out);

namespace detail {

// The first four say that a character may change in the form, or change another.
enum TextFlags : uint8_t {
  kNotNfc = 1,
  kNotNfd = 2,
  kNotNfkc = 4,
  kNotNfkd = 8,
  kMark = 16,        // category M, what StripAccents takes away
  kBertAccent = 32,  // category Mn, as BERT's steps know it
  kBertPunctuation = 64,
  kBertControl = 128,
};

struct CombiningRange {
  char32_t low, high;
  uint8_t combining_class;
};
struct Decomposition {
  char32_t code_point;
  uint16_t at;         // in kDecomposed
  uint8_t compatible;  // 1: of NFKD only
  uint8_t length;
};
struct Composition {
  char32_t first, second, composed;
};
struct LowerRange {
  char32_t low, high;
  int32_t distance;  // to the small letter
  uint8_t step;      // 2: every second code point of the range
};

extern const uint8_t kFlagBlockOfCodePoint[];  // by code point / 128
extern const uint8_t kFlagsOfBlock[];          // 128 bytes a block
extern const CombiningRange kCombining[];      // all of these are sorted
extern const uint32_t kCombiningCount;
extern const Decomposition kDecompositions[];
extern const uint32_t kDecompositionCount;
extern const char32_t kDecomposed[];
extern const Composition kCompositions[];
extern const uint32_t kCompositionCount;
extern const LowerRange kLower[];
extern const uint32_t kLowerCount;

}  // namespace detail

inline uint8_t text_flags(char32_t code_point) {
  if (code_point > 0x10FFFF) return 0;
  return detail::kFlagsOfBlock[size_t{detail::kFlagBlockOfCodePoint[code_point / 128]} * 128 +
                               code_point % 128];
}

}  // namespace puna::tokenizer
