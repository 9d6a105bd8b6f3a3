// What a type says of its planes (planes.h): each field of its block and where that goes, in the
// order of the file.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "quant/planes.h"

namespace puna::quant {

// Bit positions inside a plane's block, by element.
//   q4: a vec4 per unit; byte j holds element j in its low nibble and element 16 + j in its high
//   one.
constexpr uint32_t q4_bit(uint32_t e) { return e / 32 * 128 + e % 16 * 8 + e / 16 % 2 * 4; }
//   q2: two vec4 per unit, the rows of a group side by side: a word is 16 elements of a row, and
//   bits 2s of its byte b hold element 4s + b. So all that a group has of a unit is read at once,
//   each four elements are the bytes of a word after one shift, and no lane reads what another one
//   needs.
constexpr uint32_t q2_bit(uint32_t e) { return e / 16 * 128 + e % 4 * 8 + e / 4 % 4 * 2; }
//   q3: three vec4 per unit, the rows side by side. Byte b of word w < 3 holds element 4w + b at
//   bit 2 and element 16 + 4w + b at bit 5. In the two bits that are left of each byte are elements
//   12 + b (its low pair in word 0, its top bit in word 2) and 28 + b (in words 1 and 2).
constexpr uint32_t q3_bit(uint32_t e, bool top) {
  const uint32_t half = e / 16 % 2, word = e / 4 % 4, byte = e / 32 * 384 + e % 4 * 8;
  if (word < 3) return byte + word * 128 + 2 + 3 * half + (top ? 2 : 0);
  return byte + (top ? 256 + half : half * 128);
}
//   h1: a word per unit and row, the rows of a group side by side; bit 8b + j holds element 4j + b,
//   so that (word >> j) & 0x01010101 has the bits of elements 4j .. 4j + 3 in its four bytes.
constexpr uint32_t order_bit(uint32_t e) { return e % 4 * 8 + e % 32 / 4; }
constexpr uint32_t h1_bit(uint32_t e) { return e / 32 * 128 + order_bit(e); }

//   b4: a vec4 per unit; component k holds bit k of all 32 elements, ordered as in h1. So the
//   tables of 16 values become a few logic operations on whole words (lookup.wgsl).
constexpr uint32_t b4_bit(uint32_t e, uint32_t k) { return e / 32 * 128 + k * 32 + order_bit(e); }

class PlanesBuilder {
 public:
  // `repack`: the template that takes the file's blocks apart, of kernels/repack where it serves
  // several types.
  PlanesBuilder(uint32_t block_elements, std::string_view repack) {
    out_.block_elements = block_elements;
    out_.repack = repack;
  }

  void row_plane(std::string_view name, uint32_t words) {
    out_.planes.push_back({name, false, words, 0});
  }
  void group_plane(std::string_view name, uint32_t words, uint32_t row_bits) {
    out_.planes.push_back({name, true, words, row_bits});
  }
  // The next n_bits of the file go to plane_bit of the plane named.
  void field(std::string_view name, uint32_t plane_bit, uint32_t n_bits) {
    uint32_t plane = 0;
    while (out_.planes[plane].name != name) ++plane;
    out_.fields.push_back({file_bit_, plane, plane_bit, n_bits});
    file_bit_ += n_bits;
  }
  void grid(std::vector<uint32_t> words) { out_.grid = std::move(words); }
  TypePlanes take() { return std::move(out_); }

  // 16 bytes as in q4_0: already in plane order.
  void nibbles_of_unit() {
    for (uint32_t w = 0; w < 4; ++w) field("q4", 32 * w, 32);
  }
  // n_bytes whose nibbles are elements first + j (low) and first + n_bytes + j (high).
  void bits_of_nibbles(uint32_t first, uint32_t n_bytes) {
    for (uint32_t j = 0; j < n_bytes; ++j) {
      for (uint32_t nibble = 0; nibble < 2; ++nibble) {
        for (uint32_t k = 0; k < 4; ++k) field("b4", b4_bit(first + nibble * n_bytes + j, k), 1);
      }
    }
  }
  // Signs of group (8 elements) `group`, 7 or 8 bits, to the word of their unit at `unit_bits` *
  // unit + `at`.
  void signs(std::string_view plane, uint32_t group, uint32_t n, uint32_t unit_bits, uint32_t at) {
    for (uint32_t i = 0; i < n; ++i)
      field(plane, group / 4 * unit_bits + at + order_bit(group % 4 * 8 + i), 1);
  }
  // Four bits to where the last sign of each group of a unit would be.
  void beside_signs(std::string_view plane, uint32_t unit, uint32_t unit_bits, uint32_t at) {
    for (uint32_t l = 0; l < 4; ++l) field(plane, unit * unit_bits + at + order_bit(8 * l + 7), 1);
  }
  void words(std::string_view plane, uint32_t first_bit, uint32_t n) {
    for (uint32_t w = 0; w < n; ++w) field(plane, first_bit + 32 * w, 32);
  }
  // The 12 bytes of 6-bit scales and mins of q4_k and q5_k (k_scales.h) into words 1..3 of "hd":
  // low nibbles of the scales, low nibbles of the mins, top two bits of the scales (low half) and
  // mins (high half).
  void scale_mins() {
    const auto low = [](uint32_t j, bool min) { return (min ? 64 : 32) + 4 * j; };
    const auto top = [](uint32_t j, bool min) { return (min ? 112 : 96) + 2 * j; };
    for (bool min : {false, true}) {
      for (uint32_t j = 0; j < 4; ++j) {
        field("hd", low(j, min), 4);
        field("hd", top(j, min), 2);
        field("hd", top(j + 4, min), 2);
      }
    }
    for (uint32_t j = 4; j < 8; ++j) {
      field("hd", low(j, false), 4);
      field("hd", low(j, true), 4);
    }
  }
  // 128 bytes: byte 32c + l holds element 64c + l (low nibble) and 64c + 32 + l.
  void nibbles_of_k() {
    for (uint32_t c = 0; c < 4; ++c) {
      for (uint32_t l = 0; l < 32; ++l) {
        field("q4", q4_bit(64 * c + l), 4);
        field("q4", q4_bit(64 * c + 32 + l), 4);
      }
    }
  }
  // 64 bytes: bits 2s of byte 32n + l belong to element 128n + 32s + l.
  template <class BitOf>
  void pairs_of_k(std::string_view plane, BitOf bit_of) {
    for (uint32_t byte = 0; byte < 64; ++byte) {
      for (uint32_t s = 0; s < 4; ++s)
        field(plane, bit_of(byte / 32 * 128 + 32 * s + byte % 32), 2);
    }
  }
  void pairs_of_k() { pairs_of_k("q2", q2_bit); }
  // 16 bytes, of 16 elements each: a word per two units, the rows of a group side by side.
  void scale_bytes() {
    for (uint32_t w = 0; w < 4; ++w) field("sc", 128 * w, 32);
  }

 private:
  TypePlanes out_;
  uint32_t file_bit_ = 0;
};

// f32, f16, bf16: rows as they are.
TypePlanes float_planes(uint32_t bits);
// q4_0, q4_1, q5_0, q5_1: scale (and min), fifth bits, nibbles.
TypePlanes legacy_planes(bool has_min, bool has_high);
// q4f16_1, q4f32_1: scale, then the nibbles in the order of the elements.
TypePlanes mlc_planes(std::string_view scales, uint32_t scale_bits);
// iq4_nl, mxfp4: a scale of scale_bits, nibbles.
TypePlanes lookup_planes(std::string_view scale, uint32_t scale_bits);

// Grids of the codebook types as kernels read them. Of iq2 and iq1 an entry of eight small values
// is a word: byte b holds, in two bits each, the numbers of values b and 4 + b among 8, 25, 43, or
// -1, 0, 1.
template <size_t n, class Code>
std::vector<uint32_t> eights(const std::array<uint64_t, n>& grid, Code code) {
  std::vector<uint32_t> words;
  for (const uint64_t entry : grid) {
    uint32_t word = 0;
    for (uint32_t i = 0; i < 8; ++i) {
      const auto value = static_cast<uint32_t>(entry >> (8 * i) & 255);
      word |= code(value) << (i % 4 * 8 + i / 4 * 2);
    }
    words.push_back(word);
  }
  return words;
}
template <size_t n>
std::vector<uint32_t> iq2_words(const std::array<uint64_t, n>& grid) {
  return eights(grid, [](uint32_t value) { return value / 17; });
}
std::vector<uint32_t> iq1_words();

}  // namespace puna::quant
