// A SHA-256 as 32 bytes. What comes from outside is parsed here, at the edge; paths are made of the
// bytes alone (layout.h), so no text of a stranger is ever part of one.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace puna::store {

class Digest {
 public:
  constexpr Digest() = default;  // all zero
  explicit constexpr Digest(const std::array<uint8_t, 32>& bytes) : bytes_(bytes) {}

  // Nothing unless `hex` is 64 lower-case hex digits.
  static constexpr std::optional<Digest> from_hex(std::string_view hex);
  // "sha256:" and 64 lower-case hex digits. Errors: kInvalidArgument, with the text.
  static base::Result<Digest> parse(std::string_view text);

  std::string hex() const;
  std::string text() const { return "sha256:" + hex(); }
  const std::array<uint8_t, 32>& bytes() const { return bytes_; }

  auto operator<=>(const Digest&) const = default;

 private:
  std::array<uint8_t, 32> bytes_{};
};

constexpr std::optional<Digest> Digest::from_hex(std::string_view hex) {
  if (hex.size() != 64) return std::nullopt;
  std::array<uint8_t, 32> bytes{};
  for (size_t i = 0; i < hex.size(); ++i) {
    const char c = hex[i];
    const bool digit = c >= '0' && c <= '9';
    if (!digit && (c < 'a' || c > 'f')) return std::nullopt;
    bytes[i / 2] = static_cast<uint8_t>(bytes[i / 2] << 4 | (digit ? c - '0' : c - 'a' + 10));
  }
  return Digest(bytes);
}

// For tables in the source: a typing error does not compile.
consteval Digest digest_literal(std::string_view hex) { return Digest::from_hex(hex).value(); }

}  // namespace puna::store
