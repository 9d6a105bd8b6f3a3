// Between units of 32 columns and the packed groups of packed.h.
#include "kernels/matmul/packed.h"

#include <cstring>

#include "base/half.h"
#include "kernels/matmul/file_unit.h"
#include "kernels/matmul/pack_four.h"
#include "quant/iq4_nl.h"
#include "quant/mxfp4.h"
#include "quant/nvfp4.h"
#include "quant/tq1_0.h"

namespace puna::kernels {
namespace {

using quant::Type;

// The K types' scales in a packed block: see `sub` in packed.h.
[[gnu::always_inline]] inline void store_sub(Type type, std::byte* sub, uint32_t r, uint32_t u,
                                             const Unit& unit) {
  if (type == Type::kQ2_K || type == Type::kQ6_K || type == Type::kNVFP4) {
    for (uint32_t h = 0; h < 2; ++h) put(sub + (2 * u + h) * 16 + r, unit.sub[h]);
    return;
  }
  if (type == Type::kIQ4_XS) {
    put_bits(sub + 16 * (u / 2) + r, u % 2 * 4, 15u, unit.sub[0] & 15u);
    put_bits(sub + 64 + 16 * (u / 4) + r, u % 4 * 2, 3u, unit.sub[0] >> 4);
    return;
  }
  put(sub + 16 * u + r, (unit.sub[0] & 15u) | (unit.sub[1] & 15u) << 4);
  const unsigned tops = unit.sub[0] >> 4 | unit.sub[1] >> 4 << 2;
  put_bits(sub + 128 + 16 * (u / 2) + r, u % 2 * 4, 15u, tops);
}

// Two bits, from `shift` on, of columns 16j + 4s + i at bits 2s of byte i.
[[gnu::always_inline]] inline uint32_t two_bits(const Unit& unit, uint32_t j, uint32_t shift) {
  uint32_t word = 0;
  for (uint32_t s = 0; s < 4; ++s)
    word |= (code_word(unit, 4 * j + s) >> shift & 3 * kBytes) << (2 * s);
  return word;
}

void load_sub(Type type, const std::byte* sub, uint32_t r, uint32_t u, Unit& unit) {
  if (type == Type::kQ2_K || type == Type::kQ6_K || type == Type::kNVFP4) {
    for (uint32_t h = 0; h < 2; ++h) unit.sub[h] = byte_at(sub, (2 * u + h) * 16 + r);
    return;
  }
  if (type == Type::kIQ4_XS) {
    const unsigned low = byte_at(sub, 16 * (u / 2) + r) >> (u % 2 * 4) & 15u;
    const unsigned top = byte_at(sub, 64 + 16 * (u / 4) + r) >> (u % 4 * 2) & 3u;
    unit.sub[0] = static_cast<uint8_t>(low | top << 4);
    return;
  }
  const unsigned lows = byte_at(sub, 16 * u + r);
  const unsigned tops = byte_at(sub, 128 + 16 * (u / 2) + r) >> (u % 2 * 4);
  unit.sub[0] = static_cast<uint8_t>((lows & 15) | (tops & 3) << 4);
  unit.sub[1] = static_cast<uint8_t>(lows >> 4 | (tops >> 2 & 3) << 4);
}

// The low bits of unit u of a packed block.
[[gnu::always_inline]] inline void write_low(const PackedFormat& format, std::byte* block,
                                             uint32_t r, uint32_t u, const Unit& values) {
  std::byte* low = block + u * 64 * format.low_bits + 4 * r;
  if (format.low_bits == 8) {
    for (uint32_t j = 0; j < 8; ++j) put_word(low + 64 * j, code_word(values, j));
  } else if (format.low_bits == 4) {
    for (uint32_t j = 0; j < 4; ++j) {
      put_word(low + 64 * j, (code_word(values, j) & 15 * kBytes) |
                                 (code_word(values, 4 + j) & 15 * kBytes) << 4);
    }
  } else if (format.low_bits == 2) {
    for (uint32_t j = 0; j < 2; ++j) put_word(low + 64 * j, two_bits(values, j, 0));
  }
}

[[gnu::always_inline]] inline void write_high(const PackedFormat& format, std::byte* block,
                                              uint32_t r, uint32_t u, const Unit& values) {
  std::byte* high = block + format.high_offset() + u * 64 * format.high_bits + 4 * r;
  if (format.high_bits == 2) {
    for (uint32_t j = 0; j < 2; ++j) put_word(high + 64 * j, two_bits(values, j, format.low_bits));
  } else if (format.high_bits == 1) {
    uint32_t bits = 0;
    for (uint32_t j = 0; j < 8; ++j)
      bits |= (code_word(values, j) >> format.low_bits & kBytes) << j;
    put_word(high, bits);
  }
}

[[gnu::always_inline]] inline void write_d(const PackedFormat& format, std::byte* block, uint32_t r,
                                           const Unit& values) {
  const uint32_t d_bytes = format.d_bytes / kGroupRows;
  std::memcpy(block + format.d_offset() + d_bytes * r, &values.d, d_bytes);
  if (format.has_min) std::memcpy(block + format.d_offset() + 32 + 2 * r, &values.min, 2);
}

// The low nibbles of two units of a K type, which the file has in the same 32 bytes: in the low
// nibbles there those of unit u, in the high ones those of unit v.
[[gnu::always_inline]] inline void pack_low_pair(const std::byte* from, std::byte* block,
                                                 uint32_t r, uint32_t u, uint32_t v) {
  constexpr uint32_t kLow = 15 * kBytes;
  for (uint32_t j = 0; j < 4; ++j) {
    const uint32_t first = word_at(from, j), second = word_at(from, 4 + j);
    put_word(block + 64 * (4 * u + j) + 4 * r, (first & kLow) | (second & kLow) << 4);
    put_word(block + 64 * (4 * v + j) + 4 * r, (first >> 4 & kLow) | (second & ~kLow));
  }
}

// A block of a row to row r of a packed block.
template <Type kType>
[[gnu::always_inline]] inline void pack_block(const std::byte* from, std::byte* to, uint32_t r) {
  constexpr PackedFormat kFormat = packed_format(kType);
  constexpr bool kPairs = kType == Type::kQ4_K || kType == Type::kQ6_K;
  if constexpr (kType == Type::kQ4_K) {
    for (uint32_t c = 0; c < 4; ++c) pack_low_pair(from + 16 + 32 * c, to, r, 2 * c, 2 * c + 1);
  } else if constexpr (kType == Type::kQ6_K) {
    for (uint32_t c = 0; c < 4; ++c) {
      const uint32_t u = 4 * (c / 2) + c % 2;
      pack_low_pair(from + 32 * c, to, r, u, u + 2);
    }
  }
  for (uint32_t u = 0; u < kFormat.units; ++u) {
    const Unit values = read_block_unit(kType, from, u);
    if constexpr (!kPairs) write_low(kFormat, to, r, u, values);
    write_high(kFormat, to, r, u, values);
    if (kFormat.sub_bytes > 0) store_sub(kType, to + kFormat.sub_offset(), r, u, values);
    if (u == 0) write_d(kFormat, to, r, values);
  }
}

// The file's nibbles are in packed order already: whole words move.
template <Type kType>
[[gnu::always_inline]] inline void pack_nibbles(const std::byte* from, std::byte* to, uint32_t r) {
  constexpr PackedFormat kFormat = packed_format(kType);
  constexpr size_t kHeader = kFormat.has_min ? 4 : 2;
  for (size_t j = 0; j < 4; ++j) put_word(to + 64 * j + 4 * r, word_at(from + kHeader, j));
  std::memcpy(to + kFormat.d_offset() + 2 * r, from, 2);
  if (kFormat.has_min) std::memcpy(to + kFormat.d_offset() + 32 + 2 * r, from + 2, 2);
}

// The file's bytes stay as they are, 13 words a block.
void pack_ternary(const std::byte* from, std::byte* to, uint32_t r) {
  for (size_t j = 0; j < 13; ++j) put_word(to + 64 * j + 4 * r, word_at(from, j));
  std::memcpy(to + packed_format(Type::kTQ1_0).d_offset() + 2 * r, from + 52, 2);
}

// Unit u of row r of such a block.
Unit load_ternary_unit(const std::byte* block, uint32_t r, uint32_t u) {
  quant::BlockTQ1_0 file{};
  for (size_t j = 0; j < 13; ++j) {
    std::memcpy(reinterpret_cast<std::byte*>(&file) + 4 * j, block + 64 * j + 4 * r, 4);
  }
  quant::UnitCodes codes;
  read_unit(file, u, codes);
  Unit unit{};
  for (size_t c = 0; c < kUnitCols; ++c) unit.codes[c] = static_cast<uint8_t>(codes.code[c] + 1);
  unit.d = half_at(block, packed_format(Type::kTQ1_0).d_offset() + 2 * r);
  return unit;
}

}  // namespace

uint64_t packed_group_bytes(Type type, uint32_t cols) {
  uint64_t bytes = 0;
  if (is_float(type) || keeps_file_rows(type)) {
    bytes = quant::row_bytes(type, cols) * kGroupRows;
  } else {
    const PackedFormat format = packed_format(type);
    bytes = uint64_t{cols} / (kUnitCols * format.units) * format.block_bytes();
  }
  return (bytes + 63) / 64 * 64;
}

void pack_rows(Type type, const std::byte* rows, uint32_t n_rows, uint32_t n_units,
               std::byte* group) {
  const size_t block_bytes = quant::info(type).block_bytes;
  with_packed_type(type, [&](auto constant) {
    constexpr Type kType = decltype(constant)::value;
    constexpr PackedFormat kFormat = packed_format(kType);
    const uint32_t n_blocks = n_units / kFormat.units;
    for (uint32_t b = 0; b < n_blocks; ++b) {
      std::byte* to = group + size_t{b} * kFormat.block_bytes();
      const auto block_of = [&](uint32_t r) {
        return rows + (size_t{r} * n_blocks + b) * block_bytes;
      };
      uint32_t r = 0;
      if constexpr (kType == Type::kQ4_K || kType == Type::kQ6_K) {
        for (; r + 4 <= n_rows; r += 4) {
          const FourRows four = {block_of(r), block_of(r + 1), block_of(r + 2), block_of(r + 3)};
          kType == Type::kQ4_K ? pack_four_q4_k(four, to + 4 * r, r)
                               : pack_four_q6_k(four, to + 4 * r, r);
        }
      }
      for (; r < n_rows; ++r) {
        const std::byte* from = block_of(r);
        if constexpr (kType == Type::kTQ1_0) {
          pack_ternary(from, to, r);
        } else if constexpr (kType == Type::kQ4_0 || kType == Type::kQ4_1) {
          pack_nibbles<kType>(from, to, r);
        } else {
          pack_block<kType>(from, to, r);
        }
      }
    }
  });
}

Unit load_unit(Type type, const std::byte* group, uint32_t r, uint32_t unit) {
  const PackedFormat format = packed_format(type);
  const std::byte* block = group + uint64_t{unit / format.units} * format.block_bytes();
  const uint32_t u = unit % format.units;
  if (type == Type::kTQ1_0) return load_ternary_unit(block, r, u);
  const std::byte* low = block + u * 64 * format.low_bits + 4 * r;
  const std::byte* high = block + format.high_offset() + u * 64 * format.high_bits + 4 * r;
  Unit values{};
  for (uint32_t c = 0; c < 32; ++c) {
    const uint32_t i = c % 4;
    const uint32_t shift2 = c / 4 % 4 * 2;  // of 2-bit fields
    unsigned code = 0;
    if (format.low_bits == 8) code = byte_at(low, 64 * (c / 4) + i);
    if (format.low_bits == 4) code = byte_at(low, 64 * (c / 4 % 4) + i) >> (c / 16 * 4) & 15u;
    if (format.low_bits == 2) code = byte_at(low, 64 * (c / 16) + i) >> shift2 & 3u;
    if (format.high_bits == 1) code |= (byte_at(high, i) >> (c / 4) & 1u) << format.low_bits;
    if (format.high_bits == 2)
      code |= (byte_at(high, 64 * (c / 16) + i) >> shift2 & 3u) << format.low_bits;
    values.codes[c] = static_cast<uint8_t>(code);
  }
  if (format.sub_bytes > 0) load_sub(type, block + format.sub_offset(), r, u, values);
  const uint32_t d_bytes = format.d_bytes / kGroupRows;
  std::memcpy(&values.d, block + format.d_offset() + d_bytes * r, d_bytes);
  if (format.has_min) values.min = half_at(block, format.d_offset() + 32 + 2 * r);
  return values;
}

void decode_unit(Type type, const Unit& values, float* out) {
  const float d = base::f16_to_f32(values.d);
  const float min = base::f16_to_f32(values.min);
  for (uint32_t c = 0; c < 32; ++c) {
    const float code = values.codes[c];
    const uint8_t sub = values.sub[c / 16];
    switch (type) {
      case Type::kQ4_0:
        out[c] = d * (code - 8);
        break;
      case Type::kQ5_0:
        out[c] = d * (code - 16);
        break;
      case Type::kQ8_0:
        out[c] = d * (code - 128);
        break;
      case Type::kTQ1_0:
      case Type::kTQ2_0:
        out[c] = d * (code - 1);
        break;
      case Type::kQ1_0:
        out[c] = d * (2 * code - 1);
        break;
      case Type::kQ4F16_1:
        out[c] = d * (code - 7);
        break;
      case Type::kNVFP4:
        out[c] = quant::nvfp4_scale(sub) * static_cast<float>(quant::kFp4Values[values.codes[c]]);
        break;
      case Type::kQ4_1:
      case Type::kQ5_1:
        out[c] = d * code + min;
        break;
      case Type::kQ2_K:
        out[c] = d * static_cast<float>(sub & 15) * code - min * static_cast<float>(sub >> 4);
        break;
      case Type::kQ3_K:
        out[c] = d * static_cast<float>(sub - 32) * (code - 4);
        break;
      case Type::kIQ4_NL:
        out[c] = d * static_cast<float>(quant::kIq4Values[values.codes[c]]);
        break;
      case Type::kIQ4_XS:
        out[c] = d * static_cast<float>(values.sub[0] - 32) *
                 static_cast<float>(quant::kIq4Values[values.codes[c]]);
        break;
      case Type::kMXFP4:
        out[c] =
            quant::mxfp4_scale(values.d) * static_cast<float>(quant::kFp4Values[values.codes[c]]);
        break;
      case Type::kQ4_K:
      case Type::kQ5_K:
        out[c] = d * values.sub[0] * code - min * values.sub[1];
        break;
      default:
        out[c] = d * static_cast<float>(static_cast<int8_t>(sub)) * (code - 32);
        break;
    }
  }
}

}  // namespace puna::kernels
