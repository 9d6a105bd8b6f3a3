// Hexadecimal digits, and what is escaped by two of them.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace puna::base {

// Its value, of letters of either case; -1: it is none.
constexpr int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// The byte of the two digits that `text` begins with.
constexpr std::optional<char> hex_byte(std::string_view text) {
  if (text.size() < 2) return std::nullopt;
  const int high = hex_digit(text[0]), low = hex_digit(text[1]);
  if (high < 0 || low < 0) return std::nullopt;
  return static_cast<char>(high * 16 + low);
}

// With each "%41" as the byte that it stands for; a "%" without two digits stays. Source: RFC 3986,
// section 2.1.
inline std::string percent_decoded(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = text[i] == '%' ? hex_byte(text.substr(i + 1)) : std::nullopt;
    out += byte.value_or(text[i]);
    if (byte) i += 2;
  }
  return out;
}

}  // namespace puna::base
