// Stepping through UTF-8 that may be broken: a byte that belongs to no valid character is a unit of
// its own, so every walk visits every byte, and walking backwards meets the same boundaries as
// walking forwards. Valid means RFC 3629: no overlong forms, no surrogates, nothing above U+10FFFF.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace puna::base {

inline constexpr char32_t kInvalidCodePoint = 0xFFFFFFFF;

struct Utf8Unit {
  char32_t code_point;  // kInvalidCodePoint for a stray byte
  uint32_t bytes;       // 1 to 4
};

namespace detail {
// How many bytes the character that `lead` opens has; 0 when no character starts with that byte.
constexpr uint32_t utf8_length(unsigned char lead) {
  if (lead < 0x80) return 1;
  if (lead < 0xC2) return 0;
  if (lead < 0xE0) return 2;
  if (lead < 0xF0) return 3;
  return lead < 0xF5 ? 4 : 0;
}

// Whether `second` may follow `lead`; here overlong forms, surrogates and too large values are told
// apart.
constexpr bool utf8_second_fits(unsigned char lead, unsigned char second) {
  const unsigned char low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  const unsigned char high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  return second >= low && second <= high;
}
}  // namespace detail

// The unit that starts at text[at]; at < text.size().
constexpr Utf8Unit utf8_next(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[at + i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const uint32_t length = detail::utf8_length(lead);
  if (length == 0 || text.size() - at < length || !detail::utf8_second_fits(lead, byte(1)))
    return {kInvalidCodePoint, 1};
  char32_t code_point = lead & (0xFFu >> (length + 1));
  for (uint32_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return {kInvalidCodePoint, 1};
    code_point = code_point << 6 | (byte(i) & 0x3Fu);
  }
  return {code_point, length};
}

// How many bytes the unit has that ends before text[at], where `at` is a boundary above 0.
constexpr uint32_t utf8_previous_bytes(std::string_view text, size_t at) {
  if (static_cast<unsigned char>(text[at - 1]) < 0x80) return 1;
  for (uint32_t back = 2; back <= 4 && back <= at; ++back) {
    if (utf8_next(text.substr(0, at), at - back).bytes == back) return back;
  }
  return 1;
}

// The length of the longest prefix that does not end inside a character that later bytes could
// complete.
constexpr size_t utf8_complete_prefix(std::string_view text) {
  for (size_t back = 1; back <= 3 && back <= text.size(); ++back) {
    const auto lead = static_cast<unsigned char>(text[text.size() - back]);
    if ((lead & 0xC0) == 0x80) continue;
    const bool open =
        detail::utf8_length(lead) > back &&
        (back == 1 ||
         detail::utf8_second_fits(lead, static_cast<unsigned char>(text[text.size() - back + 1])));
    return open ? text.size() - back : text.size();
  }
  return text.size();
}

constexpr bool utf8_is_valid(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    const Utf8Unit unit = utf8_next(text, at);
    if (unit.code_point == kInvalidCodePoint) return false;
    at += unit.bytes;
  }
  return true;
}

// Appends a code point up to U+10FFFF.
inline void utf8_append(std::string& out, char32_t code_point) {
  const auto put = [&](char32_t value) { out.push_back(static_cast<char>(value)); };
  if (code_point < 0x80) return put(code_point);
  if (code_point < 0x800) {
    put(0xC0 | code_point >> 6);
  } else {
    if (code_point < 0x10000) {
      put(0xE0 | code_point >> 12);
    } else {
      put(0xF0 | code_point >> 18);
      put(0x80 | (code_point >> 12 & 0x3F));
    }
    put(0x80 | (code_point >> 6 & 0x3F));
  }
  put(0x80 | (code_point & 0x3F));
}

}  // namespace puna::base
