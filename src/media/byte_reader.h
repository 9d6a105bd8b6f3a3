// Numbers of a file at places that the file itself names, none beyond its end.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace puna::media {

enum class Endian { kLittle, kBig };

struct ByteReader {
  std::span<const std::byte> bytes;
  Endian endian = Endian::kLittle;

  // Nothing where the number does not lie in the file.
  std::optional<uint8_t> u8(uint64_t at) const {
    if (at >= bytes.size()) return std::nullopt;
    return std::to_integer<uint8_t>(bytes[static_cast<size_t>(at)]);
  }
  std::optional<uint32_t> u16(uint64_t at) const { return number(at, 2); }
  std::optional<uint32_t> u32(uint64_t at) const { return number(at, 4); }

 private:
  std::optional<uint32_t> number(uint64_t at, uint32_t n) const {
    if (at > bytes.size() || bytes.size() - at < n) return std::nullopt;
    uint32_t value = 0;
    for (uint32_t i = 0; i < n; ++i) {
      const uint64_t place = endian == Endian::kLittle ? at + n - 1 - i : at + i;
      value = value << 8 | std::to_integer<uint32_t>(bytes[static_cast<size_t>(place)]);
    }
    return value;
  }
};

inline bool begins_with(std::span<const std::byte> bytes, std::string_view text) {
  return bytes.size() >= text.size() &&
         std::equal(text.begin(), text.end(), bytes.begin(), [](char c, std::byte b) {
           return static_cast<uint8_t>(c) == std::to_integer<uint8_t>(b);
         });
}

}  // namespace puna::media
