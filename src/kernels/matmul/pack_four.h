// Four rows of q4_k or q6_k at a time into a packed block (packed.h): what a row has in words is
// turned, so that words of four rows are stored together. Half of a common model is of these types,
// and they are the ones whose packing a load waits for.
#pragma once

#include <array>

#include "kernels/matmul/unit_words.h"

namespace puna::kernels {

using Words [[gnu::vector_size(16)]] = uint32_t;   // of a row, or one of each of four rows
using Bytes16 [[gnu::vector_size(16)]] = uint8_t;  // the same
using FourRows = std::array<const std::byte*, 4>;  // a block of each

inline Words words_at(const std::byte* p) {
  Words words;
  std::memcpy(&words, p, sizeof words);
  return words;
}
inline void put_words(std::byte* p, Words words) { std::memcpy(p, &words, sizeof words); }

// Four words of each row at `offset` of its block: element i has word i of all rows.
inline std::array<Words, 4> turned(const FourRows& rows, size_t offset) {
  const Words a = words_at(rows[0] + offset), b = words_at(rows[1] + offset);
  const Words c = words_at(rows[2] + offset), d = words_at(rows[3] + offset);
  const Words ab = __builtin_shufflevector(a, b, 0, 4, 1, 5);
  const Words ab_end = __builtin_shufflevector(a, b, 2, 6, 3, 7);
  const Words cd = __builtin_shufflevector(c, d, 0, 4, 1, 5);
  const Words cd_end = __builtin_shufflevector(c, d, 2, 6, 3, 7);
  return {__builtin_shufflevector(ab, cd, 0, 1, 4, 5), __builtin_shufflevector(ab, cd, 2, 3, 6, 7),
          __builtin_shufflevector(ab_end, cd_end, 0, 1, 4, 5),
          __builtin_shufflevector(ab_end, cd_end, 2, 3, 6, 7)};
}

// A word of each row: word i of the result has byte i of all rows.
inline Words turned_bytes(Words rows) {
  auto bytes = reinterpret_cast<Bytes16>(rows);
  for (int i = 0; i < 2; ++i) {
    bytes =
        __builtin_shufflevector(bytes, bytes, 0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15);
  }
  return reinterpret_cast<Words>(bytes);
}

// The low nibbles of units u and v, which the file has in the same 32 bytes at `offset`: in the low
// nibbles there those of u, in the high ones those of v.
[[gnu::always_inline]] inline void pack_low_pair(const FourRows& rows, size_t offset, std::byte* to,
                                                 uint32_t u, uint32_t v) {
  constexpr uint32_t kLow = 15 * kBytes;
  const std::array<Words, 4> first = turned(rows, offset), second = turned(rows, offset + 16);
  for (size_t j = 0; j < 4; ++j) {
    put_words(to + 64 * (4 * u + j), (first[j] & kLow) | (second[j] & kLow) << 4);
    put_words(to + 64 * (4 * v + j), (first[j] >> 4 & kLow) | (second[j] & ~kLow));
  }
}

// Halves of the four rows at `offset`.
inline void pack_halves(const FourRows& rows, size_t offset, std::byte* to) {
  for (size_t i = 0; i < 4; ++i) std::memcpy(to + 2 * i, rows[i] + offset, 2);
}

// Rows r to r + 3 of a packed block; `to` is the block's first byte plus 4r.
[[gnu::always_inline]] inline void pack_four_q4_k(const FourRows& rows, std::byte* to, uint32_t r) {
  constexpr PackedFormat kFormat = packed_format(quant::Type::kQ4_K);
  for (uint32_t c = 0; c < 4; ++c) pack_low_pair(rows, 16 + 32 * c, to, 2 * c, 2 * c + 1);

  // Twelve bytes of scales and mins of 6 bits, the words [scales of units 0..3 | tops of 4..7],
  // [mins | tops] and [low nibbles of both of 4..7].
  std::byte* block = to - 4 * r;
  const std::array<Words, 4> header = turned(rows, 0);
  const Words scales = header[1], mins = header[2];
  constexpr uint32_t kLow = 15 * kBytes, kTop = 3 * kBytes;
  const Words lows[] = {turned_bytes((scales & kLow) | (mins & kLow) << 4),
                        turned_bytes(header[3])};
  const Words tops[] = {(scales >> 4 & kTop) | (mins >> 4 & kTop) << 2,
                        (scales >> 6 & kTop) | (mins >> 6 & kTop) << 2};
  std::byte* sub = block + kFormat.sub_offset() + r;
  for (uint32_t h = 0; h < 2; ++h) {
    for (uint32_t i = 0; i < 4; ++i) put_word(sub + 16 * (4 * h + i), lows[h][i]);
    // Those of an even unit in the low nibble, of the odd one behind it in the high one.
    const Words pairs = turned_bytes(tops[h] | tops[h] >> 4);
    for (uint32_t i = 0; i < 2; ++i) put_word(sub + 128 + 16 * (2 * h + i), pairs[2 * i]);
  }
  pack_halves(rows, 0, block + kFormat.d_offset() + 2 * r);
  pack_halves(rows, 2, block + kFormat.d_offset() + 32 + 2 * r);
}

[[gnu::always_inline]] inline void pack_four_q6_k(const FourRows& rows, std::byte* to, uint32_t r) {
  constexpr PackedFormat kFormat = packed_format(quant::Type::kQ6_K);
  for (uint32_t c = 0; c < 4; ++c) {
    const uint32_t u = 4 * (c / 2) + c % 2;
    pack_low_pair(rows, 32 * c, to, u, u + 2);
  }
  // Two top bits of a column of four units in each byte.
  for (uint32_t half = 0; half < 2; ++half) {
    for (uint32_t j = 0; j < 2; ++j) {
      const std::array<Words, 4> tops = turned(rows, 128 + 32 * half + 16 * j);
      for (uint32_t q = 0; q < 4; ++q) {
        Words word = tops[0] >> (2 * q) & 3 * kBytes;
        for (uint32_t s = 1; s < 4; ++s) word |= (tops[s] >> (2 * q) & 3 * kBytes) << (2 * s);
        put_words(to + kFormat.high_offset() + 64 * (2 * (4 * half + q) + j), word);
      }
    }
  }
  std::byte* block = to - 4 * r;
  const std::array<Words, 4> scales = turned(rows, 192);
  for (uint32_t j = 0; j < 4; ++j) {
    const Words four = turned_bytes(scales[j]);
    for (uint32_t i = 0; i < 4; ++i)
      put_word(block + kFormat.sub_offset() + 16 * (4 * j + i) + r, four[i]);
  }
  pack_halves(rows, 208, block + kFormat.d_offset() + 2 * r);
}

}  // namespace puna::kernels
