// The CPU layout of a weight matrix: groups of 16 rows side by side, so that one vector holds the
// same columns of many rows and no product needs a sum across lanes. Bits per weight are those of
// the file. Why, and what was measured: docs/decisions/cpu-kernels.md.
//
// A group is a run of blocks (as many columns as a block of the file), a block is four fields in
// this order: low, high, sub, d. u = unit of 32 columns in the block, r = row of the group, i =
// 0..3. "Word (n, r)" is the 4 bytes at n * 64 + 4r, so a 64-byte vector is word n of all 16 rows.
//
// low, 8 bits: word (8u + j, r) byte i = code of column 4j + i.
//
// low, 4 bits: word (4u + j, r) byte i = columns 4j + i (low nibble) and 16 + 4j + i (high).
//
// low, 2 bits: word (2u + j, r) byte i = columns 16j + 4s + i at bits 2s, s = 0..3.
//
// high, 1 bit: word (u, r) byte i, bit j = top bit of column 4j + i.
//
// high, 2 bits: as low, 2 bits.
//
// q1_0 has high, 1 bit, alone. tq1_0 has the file's bytes of five digits each, four a word: words
// 0..7 as low, 8..12 as sub (tq1_0.h says which digits are a unit).
//
// sub, q2_k, q6_k and nvfp4: byte (2u + half) * 16 + r is the scale (and min) of 16 columns.
//
// sub, other K types: a pair of 6-bit numbers a unit: scales of both halves (q3_k), scale and min
// (q4_k, q5_k). Byte 16u + r holds both low nibbles, byte 128 + 16 (u / 2) + r, at bits 4 (u % 2),
// both tops.
//
// sub, iq4_xs: a scale of 6 bits a unit. Byte 16 (u / 2) + r holds the low nibble at bits 4 (u %
// 2), byte 64 + 16 (u / 4) + r the top two bits at 2 (u % 4).
//
// d: f16 of the 16 rows, then f16 mins where the type has them. mxfp4: a byte of each row; nvfp4:
// nothing.
//
// Codes of iq4_nl, iq4_xs, mxfp4 and nvfp4 name a value of a table; with an offset added
// (value_offset) it is what enters the products.
//
// A weight is a * code + b with f32 a and b per unit or half unit. Float types are simply
// [column][16 rows]. Types that are in no list below (those whose codes name entries of a grid,
// iq1, iq2, iq3, and q4f32_1) keep their rows as in the file, one after the other, and are read by
// TypeInfo::read_units.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "quant/quant.h"

namespace puna::kernels {

constexpr uint32_t kGroupRows = 16;
constexpr uint32_t kUnitCols = 32;

// Field sizes of one type; everything a kernel needs to know at compile time.
struct PackedFormat {
  uint32_t units;      // units a block: 1, 2, 4 or 8
  uint32_t low_bits;   // 8, 4, 2 or 0; 1: bytes of digits (tq1_0)
  uint32_t high_bits;  // 0, 1 or 2
  uint32_t sub_bytes;  // scales of a block
  bool has_min;        // d is followed by a second f16 a row
  uint32_t halves;     // scales a unit: 2 when they cover 16 columns
  uint32_t max_code;   // largest code as it enters products
  uint32_t d_bytes = 32;

  constexpr uint32_t low_bytes() const { return units * 64 * low_bits; }
  constexpr uint32_t high_offset() const { return low_bytes(); }
  constexpr uint32_t sub_offset() const { return high_offset() + units * 64 * high_bits; }
  constexpr uint32_t d_offset() const { return sub_offset() + sub_bytes; }
  constexpr uint32_t block_bytes() const { return d_offset() + d_bytes * (has_min ? 2 : 1); }
};

constexpr bool is_float(quant::Type type) { return type <= quant::Type::kBf16; }
constexpr bool is_lookup(quant::Type type) {
  return type == quant::Type::kIQ4_NL || type == quant::Type::kIQ4_XS ||
         type == quant::Type::kMXFP4 || type == quant::Type::kNVFP4;
}
constexpr PackedFormat packed_format(quant::Type type) {
  switch (type) {
    case quant::Type::kQ4_0:
      return {1, 4, 0, 0, false, 1, 15};
    case quant::Type::kQ4_1:
      return {1, 4, 0, 0, true, 1, 15};
    case quant::Type::kQ5_0:
      return {1, 4, 1, 0, false, 1, 31};
    case quant::Type::kQ5_1:
      return {1, 4, 1, 0, true, 1, 31};
    case quant::Type::kQ8_0:
      return {1, 8, 0, 0, false, 1, 255};
    case quant::Type::kQ2_K:
      return {8, 2, 0, 256, true, 2, 3};
    case quant::Type::kQ3_K:
      return {8, 2, 1, 192, false, 2, 7};
    case quant::Type::kQ4_K:
      return {8, 4, 0, 192, true, 1, 15};
    case quant::Type::kQ5_K:
      return {8, 4, 1, 192, true, 1, 31};
    case quant::Type::kQ6_K:
      return {8, 4, 2, 256, false, 2, 63};
    case quant::Type::kIQ4_NL:
      return {1, 4, 0, 0, false, 1, 255};
    case quant::Type::kIQ4_XS:
      return {8, 4, 0, 96, false, 1, 255};
    case quant::Type::kMXFP4:
      return {1, 4, 0, 0, false, 1, 24, 16};
    case quant::Type::kNVFP4:
      return {2, 4, 0, 64, false, 2, 24, 0};
    case quant::Type::kTQ1_0:
      return {8, 1, 0, 320, false, 1, 2};
    case quant::Type::kTQ2_0:
      return {8, 2, 0, 0, false, 1, 3};
    case quant::Type::kQ1_0:
      return {4, 0, 1, 0, false, 1, 1};
    case quant::Type::kQ4F16_1:
      return {1, 4, 0, 0, false, 1, 15};
    default:
      return {1, 8, 0, 0, false, 1, 255};
  }
}

// The code that means zero, of the types that neither have mins nor look values up.
constexpr uint32_t zero_code(quant::Type type) {
  switch (type) {
    case quant::Type::kTQ1_0:
    case quant::Type::kTQ2_0:
      return 1;
    case quant::Type::kQ4F16_1:
      return 7;
    default:
      return (packed_format(type).max_code + 1) / 2;
  }
}

// Types with packed blocks: of one unit, the K types, and others of several units.
template <quant::Type... kTypes>
struct Types {};
using SmallBlocks =
    Types<quant::Type::kQ4_0, quant::Type::kQ4_1, quant::Type::kQ5_0, quant::Type::kQ5_1,
          quant::Type::kQ8_0, quant::Type::kIQ4_NL, quant::Type::kMXFP4, quant::Type::kQ4F16_1>;
using KBlocks = Types<quant::Type::kQ2_K, quant::Type::kQ3_K, quant::Type::kQ4_K,
                      quant::Type::kQ5_K, quant::Type::kQ6_K>;
using OtherBlocks = Types<quant::Type::kIQ4_XS, quant::Type::kNVFP4, quant::Type::kTQ1_0,
                          quant::Type::kTQ2_0, quant::Type::kQ1_0>;

// Calls run(constant) with the std::integral_constant of the list's type that equals `type`.
// Returns whether there is one.
template <quant::Type... kTypes, class Run>
bool with_type(Types<kTypes...>, quant::Type type, const Run& run) {
  return ((type == kTypes && (run(std::integral_constant<quant::Type, kTypes>()), true)) || ...);
}
template <quant::Type... kTypes>
constexpr bool contains(Types<kTypes...>, quant::Type type) {
  return ((type == kTypes) || ...);
}
// Of all other block types a group holds rows as in the file.
constexpr bool keeps_file_rows(quant::Type type) {
  return !is_float(type) && !contains(SmallBlocks(), type) && !contains(KBlocks(), type) &&
         !contains(OtherBlocks(), type);
}
template <class Run>
bool with_packed_type(quant::Type type, const Run& run) {
  return with_type(SmallBlocks(), type, run) || with_type(KBlocks(), type, run) ||
         with_type(OtherBlocks(), type, run);
}

// One unit of one row, taken apart: what lies between the file's bits and the packed bits.
struct Unit {
  std::array<uint8_t, kUnitCols>
      codes;                   // unsigned; signed types are stored with their offset added
  std::array<uint8_t, 2> sub;  // q2_k: scale | min << 4 of each half; q3_k: scale of each half;
                               // q4_k, q5_k: scale, min; q6_k: signed scale of each half;
                               // iq4_xs: scale; nvfp4: scale of each half
  uint16_t d, min;             // f16; mxfp4: d is the exponent
};

// Bytes of a group of 16 rows, a multiple of 64.
uint64_t packed_group_bytes(quant::Type type, uint32_t cols);

// Unit `unit` of row r of a packed group.
Unit load_unit(quant::Type type, const std::byte* group, uint32_t r, uint32_t unit);
// Up to 16 rows in file layout, one behind the other, to a packed group: block by block, so that
// what is written stays in the first-level cache however long the rows are.
void pack_rows(quant::Type type, const std::byte* rows, uint32_t n_rows, uint32_t n_units,
               std::byte* group);
// The 32 weights of a unit, exactly as the format defines them.
void decode_unit(quant::Type type, const Unit& values, float* out);

}  // namespace puna::kernels
