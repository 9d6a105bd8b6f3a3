// A unit of 32 columns out of a row in the file's layout. Block layouts are those of the GGUF types
// (ggml-common.h, ggml-quants.c of ggml name them); their bit positions are listed with each type
// in quant/.
//
// Inlined where the type is a constant, so that a unit costs a few words' moves.
#pragma once

#include "kernels/matmul/unit_words.h"

namespace puna::kernels {

// 16 bytes at qs, low nibbles first: columns 0..15, then 16..31; their fifth bits in qh (null =
// none).
[[gnu::always_inline]] inline void read_nibbles(const std::byte* qs, const std::byte* qh,
                                                Unit& unit) {
  const uint32_t tops = qh ? word_at(qh, 0) : 0;
  for (uint32_t j = 0; j < kUnitWords; ++j) {
    const uint32_t low = word_at(qs, j % 4) >> (j / 4 * 4) & 15 * kBytes;
    set_code_word(unit, j, low | spread_bits(tops >> (4 * j)) << 4);
  }
}

// 6-bit scale and min of unit u in the 12 bytes that q4_k and q5_k share.
[[gnu::always_inline]] inline void read_scale_min(const std::byte* s, uint32_t u, Unit& unit) {
  if (u < 4) {
    unit.sub[0] = byte_at(s, u) & 63;
    unit.sub[1] = byte_at(s, u + 4) & 63;
    return;
  }
  unit.sub[0] = static_cast<uint8_t>((byte_at(s, u + 4) & 15) | (byte_at(s, u - 4) >> 6) << 4);
  unit.sub[1] = static_cast<uint8_t>((byte_at(s, u + 4) >> 4) | (byte_at(s, u) >> 6) << 4);
}

// Half h (16 columns) of a q3_k block: low nibbles in the first 8 bytes, tops in the last 4.
inline uint8_t read_q3_scale(const std::byte* s, uint32_t h) {
  const unsigned low = byte_at(s, h & 7) >> (4 * (h >> 3)) & 15u;
  const unsigned top = byte_at(s, 8 + (h & 3)) >> (2 * (h >> 2)) & 3u;
  return static_cast<uint8_t>(low | top << 4);
}

[[gnu::always_inline]] inline Unit read_lookup_unit(quant::Type type, const std::byte* block,
                                                    uint32_t u) {
  Unit unit{};
  if (type == quant::Type::kMXFP4) {
    unit.d = byte_at(block, 0);
    read_nibbles(block + 1, nullptr, unit);
    return unit;
  }
  if (type == quant::Type::kNVFP4) {
    for (uint32_t h = 0; h < 2; ++h) {
      unit.sub[h] = byte_at(block, 2 * u + h);
      for (uint32_t j = 0; j < 2; ++j) {
        const uint32_t both = word_at(block + 4 + 8 * (2 * u + h), j);
        set_code_word(unit, 4 * h + j, both & 15 * kBytes);
        set_code_word(unit, 4 * h + 2 + j, both >> 4 & 15 * kBytes);
      }
    }
    return unit;
  }
  unit.d = half_at(block, 0);
  if (type == quant::Type::kIQ4_NL) {
    read_nibbles(block + 2, nullptr, unit);
    return unit;
  }
  const unsigned low = byte_at(block, 4 + u / 2) >> (u % 2 * 4) & 15u;
  unit.sub[0] = static_cast<uint8_t>(low | (half_at(block, 2) >> (2 * u) & 3u) << 4);
  read_nibbles(block + 8 + 16 * u, nullptr, unit);
  return unit;
}

[[gnu::always_inline]] inline Unit read_k_unit(quant::Type type, const std::byte* block,
                                               uint32_t u) {
  Unit unit{};
  const uint32_t n = u / 4;  // half of the block
  const uint32_t s = u % 4;  // 32 columns of that half
  switch (type) {
    case quant::Type::kQ2_K:
      for (uint32_t j = 0; j < kUnitWords; ++j)
        set_code_word(unit, j, word_at(block + 16 + 32 * n, j) >> (2 * s) & 3 * kBytes);
      for (uint32_t h = 0; h < 2; ++h) unit.sub[h] = byte_at(block, 2 * u + h);
      unit.d = half_at(block, 80);
      unit.min = half_at(block, 82);
      break;
    case quant::Type::kQ3_K:
      for (uint32_t j = 0; j < kUnitWords; ++j) {
        const uint32_t low = word_at(block + 32 + 32 * n, j) >> (2 * s) & 3 * kBytes;
        set_code_word(unit, j, low | (word_at(block, j) >> (4 * n + s) & kBytes) << 2);
      }
      for (uint32_t h = 0; h < 2; ++h) unit.sub[h] = read_q3_scale(block + 96, 2 * u + h);
      unit.d = half_at(block, 108);
      break;
    case quant::Type::kQ4_K:
    case quant::Type::kQ5_K: {
      const bool has_high = type == quant::Type::kQ5_K;
      const std::byte* qs = block + (has_high ? 48 : 16) + 32 * (u / 2);
      for (uint32_t j = 0; j < kUnitWords; ++j) {
        const uint32_t high = has_high ? word_at(block + 16, j) >> u & kBytes : 0;
        set_code_word(unit, j, (word_at(qs, j) >> (u % 2 * 4) & 15 * kBytes) | high << 4);
      }
      read_scale_min(block + 4, u, unit);
      unit.d = half_at(block, 0);
      unit.min = half_at(block, 2);
      break;
    }
    default:  // kQ6_K
      for (uint32_t j = 0; j < kUnitWords; ++j) {
        const uint32_t low = word_at(block + 64 * n + 32 * (s % 2), j) >> (s / 2 * 4) & 15 * kBytes;
        set_code_word(unit, j,
                      low | (word_at(block + 128 + 32 * n, j) >> (2 * s) & 3 * kBytes) << 4);
      }
      for (uint32_t h = 0; h < 2; ++h) unit.sub[h] = byte_at(block, 192 + 2 * u + h);
      unit.d = half_at(block, 208);
  }
  return unit;
}

// Types of one or two bits and no more than one scale.
[[gnu::always_inline]] inline Unit read_bits_unit(quant::Type type, const std::byte* block,
                                                  uint32_t u) {
  Unit unit{};
  if (type == quant::Type::kTQ2_0) {
    for (uint32_t j = 0; j < kUnitWords; ++j)
      set_code_word(unit, j, word_at(block + 32 * (u / 4), j) >> (u % 4 * 2) & 3 * kBytes);
    unit.d = half_at(block, 64);
    return unit;
  }
  unit.d = half_at(block, 0);  // kQ1_0
  const uint32_t bits = word_at(block + 2, u);
  for (uint32_t j = 0; j < kUnitWords; ++j) set_code_word(unit, j, spread_bits(bits >> (4 * j)));
  return unit;
}

// q4f16_1: byte j holds elements 2j (low nibble) and 2j + 1.
[[gnu::always_inline]] inline Unit read_pairs_unit(const std::byte* block) {
  Unit unit{};
  unit.d = half_at(block, 0);
  for (uint32_t j = 0; j < kUnitWords; ++j) {
    const uint32_t two = half_at(block, 2 + 2 * j);
    const uint32_t apart = (two & 0xff) | (two & 0xff00) << 8;
    set_code_word(unit, j, (apart & 0x000f000f) | (apart & 0x00f000f0) << 4);
  }
  return unit;
}

// Unit u of a block of any type with packed blocks but tq1_0, whose bytes are not taken apart.
[[gnu::always_inline]] inline Unit read_block_unit(quant::Type type, const std::byte* block,
                                                   uint32_t u) {
  const PackedFormat format = packed_format(type);
  if (is_lookup(type)) return read_lookup_unit(type, block, u);
  if (type == quant::Type::kTQ2_0 || type == quant::Type::kQ1_0)
    return read_bits_unit(type, block, u);
  if (type == quant::Type::kQ4F16_1) return read_pairs_unit(block);
  if (format.units > 1) return read_k_unit(type, block, u);
  Unit values{};
  values.d = half_at(block, 0);
  if (format.has_min) values.min = half_at(block, 2);
  const std::byte* qs = block + (format.has_min ? 4 : 2);
  if (type == quant::Type::kQ8_0) {
    for (uint32_t j = 0; j < kUnitWords; ++j)
      set_code_word(values, j, word_at(qs, j) ^ 0x80 * kBytes);
  } else if (format.high_bits > 0) {
    read_nibbles(qs + 4, qs, values);
  } else {
    read_nibbles(qs, nullptr, values);
  }
  return values;
}

}  // namespace puna::kernels
