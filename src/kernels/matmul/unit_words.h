// Bytes, halves and words of blocks and units: what reading the file's blocks and writing packed
// ones share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kernels/matmul/packed.h"

namespace puna::kernels {

inline uint8_t byte_at(const std::byte* p, size_t i) { return std::to_integer<uint8_t>(p[i]); }
inline uint16_t half_at(const std::byte* p, size_t i) {
  uint16_t half = 0;
  std::memcpy(&half, p + i, 2);
  return half;
}
inline void put(std::byte* p, unsigned value) { *p = static_cast<std::byte>(value); }
// Replaces the bits of `mask` << shift.
inline void put_bits(std::byte* p, uint32_t shift, unsigned mask, unsigned value) {
  put(p, (std::to_integer<unsigned>(*p) & ~(mask << shift)) | value << shift);
}

// Codes are moved four at a time, as the bytes of a word: loading packs every weight of a model.
constexpr uint32_t kBytes = 0x01010101;  // times n: n in every byte
constexpr uint32_t kUnitWords = kUnitCols / 4;

inline uint32_t word_at(const std::byte* p, size_t i) {
  uint32_t word = 0;
  std::memcpy(&word, p + 4 * i, 4);
  return word;
}
inline void put_word(std::byte* p, uint32_t word) { std::memcpy(p, &word, 4); }
// The codes of columns 4j..4j+3.
inline uint32_t code_word(const Unit& unit, size_t j) {
  uint32_t word = 0;
  std::memcpy(&word, unit.codes.data() + 4 * j, 4);
  return word;
}
inline void set_code_word(Unit& unit, size_t j, uint32_t word) {
  std::memcpy(unit.codes.data() + 4 * j, &word, 4);
}
// Bit k of the low four to the lowest bit of byte k.
inline uint32_t spread_bits(uint32_t bits) { return ((bits & 15u) * 0x00204081u) & kBytes; }

}  // namespace puna::kernels
