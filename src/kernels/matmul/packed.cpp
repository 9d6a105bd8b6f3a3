// Between the file's blocks and the packed groups of packed.h, one unit of 32 columns at a time.
// Block layouts are those of the GGUF types (ggml-common.h, ggml-quants.c of ggml name them); their
// bit positions are listed with each type in quant/.
#include "kernels/matmul/packed.h"

#include <cstring>

#include "base/half.h"
#include "quant/iq4_nl.h"
#include "quant/mxfp4.h"

namespace puna::kernels {
namespace {

using quant::Type;

uint8_t byte_at(const std::byte* p, size_t i) { return std::to_integer<uint8_t>(p[i]); }
uint16_t half_at(const std::byte* p, size_t i) {
  uint16_t half = 0;
  std::memcpy(&half, p + i, 2);
  return half;
}
void put(std::byte* p, unsigned value) { *p = static_cast<std::byte>(value); }
// Replaces the bits of `mask` << shift.
void put_bits(std::byte* p, uint32_t shift, unsigned mask, unsigned value) {
  put(p, (std::to_integer<unsigned>(*p) & ~(mask << shift)) | value << shift);
}

// 16 bytes at qs, low nibbles first: columns 0..15, then 16..31; their fifth bits in qh (null =
// none).
void read_nibbles(const std::byte* qs, const std::byte* qh, Unit& unit) {
  uint32_t tops = 0;
  if (qh) std::memcpy(&tops, qh, 4);
  for (uint32_t c = 0; c < 32; ++c) {
    const unsigned low = byte_at(qs, c % 16) >> (c / 16 * 4) & 15u;
    unit.codes[c] = static_cast<uint8_t>(low | (tops >> c & 1u) << 4);
  }
}

// 6-bit scale and min of unit u in the 12 bytes that q4_k and q5_k share.
void read_scale_min(const std::byte* s, uint32_t u, Unit& unit) {
  if (u < 4) {
    unit.sub[0] = byte_at(s, u) & 63;
    unit.sub[1] = byte_at(s, u + 4) & 63;
    return;
  }
  unit.sub[0] = static_cast<uint8_t>((byte_at(s, u + 4) & 15) | (byte_at(s, u - 4) >> 6) << 4);
  unit.sub[1] = static_cast<uint8_t>((byte_at(s, u + 4) >> 4) | (byte_at(s, u) >> 6) << 4);
}

// Half h (16 columns) of a q3_k block: low nibbles in the first 8 bytes, tops in the last 4.
uint8_t read_q3_scale(const std::byte* s, uint32_t h) {
  const unsigned low = byte_at(s, h & 7) >> (4 * (h >> 3)) & 15u;
  const unsigned top = byte_at(s, 8 + (h & 3)) >> (2 * (h >> 2)) & 3u;
  return static_cast<uint8_t>(low | top << 4);
}

Unit read_lookup_unit(Type type, const std::byte* block, uint32_t u) {
  Unit unit{};
  if (type == Type::kMXFP4) {
    unit.d = byte_at(block, 0);
    read_nibbles(block + 1, nullptr, unit);
    return unit;
  }
  unit.d = half_at(block, 0);
  if (type == Type::kIQ4_NL) {
    read_nibbles(block + 2, nullptr, unit);
    return unit;
  }
  const unsigned low = byte_at(block, 4 + u / 2) >> (u % 2 * 4) & 15u;
  unit.sub[0] = static_cast<uint8_t>(low | (half_at(block, 2) >> (2 * u) & 3u) << 4);
  read_nibbles(block + 8 + 16 * u, nullptr, unit);
  return unit;
}

Unit read_k_unit(Type type, const std::byte* block, uint32_t u) {
  Unit unit{};
  const uint32_t n = u / 4;  // half of the block
  const uint32_t s = u % 4;  // 32 columns of that half
  switch (type) {
    case Type::kQ2_K:
      for (uint32_t c = 0; c < 32; ++c)
        unit.codes[c] = byte_at(block, 16 + 32 * n + c) >> (2 * s) & 3u;
      for (uint32_t h = 0; h < 2; ++h) unit.sub[h] = byte_at(block, 2 * u + h);
      unit.d = half_at(block, 80);
      unit.min = half_at(block, 82);
      break;
    case Type::kQ3_K:
      for (uint32_t c = 0; c < 32; ++c) {
        const unsigned low = byte_at(block, 32 + 32 * n + c) >> (2 * s) & 3u;
        unit.codes[c] = static_cast<uint8_t>(low | (byte_at(block, c) >> (4 * n + s) & 1u) << 2);
      }
      for (uint32_t h = 0; h < 2; ++h) unit.sub[h] = read_q3_scale(block + 96, 2 * u + h);
      unit.d = half_at(block, 108);
      break;
    case Type::kQ4_K:
    case Type::kQ5_K: {
      const bool has_high = type == Type::kQ5_K;
      const std::byte* qs = block + (has_high ? 48 : 16) + 32 * (u / 2);
      for (uint32_t c = 0; c < 32; ++c) {
        const unsigned high = has_high ? byte_at(block, 16 + c) >> u & 1u : 0u;
        unit.codes[c] = static_cast<uint8_t>((byte_at(qs, c) >> (u % 2 * 4) & 15u) | high << 4);
      }
      read_scale_min(block + 4, u, unit);
      unit.d = half_at(block, 0);
      unit.min = half_at(block, 2);
      break;
    }
    default:  // kQ6_K
      for (uint32_t c = 0; c < 32; ++c) {
        const unsigned low = byte_at(block, 64 * n + 32 * (s % 2) + c) >> (s / 2 * 4) & 15u;
        const unsigned high = byte_at(block, 128 + 32 * n + c) >> (2 * s) & 3u;
        unit.codes[c] = static_cast<uint8_t>(low | high << 4);
      }
      for (uint32_t h = 0; h < 2; ++h) unit.sub[h] = byte_at(block, 192 + 2 * u + h);
      unit.d = half_at(block, 208);
  }
  return unit;
}

// The K types' scales in a packed block: see `sub` in packed.h.
void store_sub(Type type, std::byte* sub, uint32_t r, uint32_t u, const Unit& unit) {
  if (type == Type::kQ2_K || type == Type::kQ6_K) {
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

void load_sub(Type type, const std::byte* sub, uint32_t r, uint32_t u, Unit& unit) {
  if (type == Type::kQ2_K || type == Type::kQ6_K) {
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

Unit read_file_unit(Type type, const std::byte* row, uint32_t unit) {
  const PackedFormat format = packed_format(type);
  const std::byte* block = row + uint64_t{unit / format.units} * quant::info(type).block_bytes;
  if (is_lookup(type)) return read_lookup_unit(type, block, unit % format.units);
  if (format.units > 1) return read_k_unit(type, block, unit % format.units);
  Unit values{};
  values.d = half_at(block, 0);
  if (format.has_min) values.min = half_at(block, 2);
  const std::byte* qs = block + (format.has_min ? 4 : 2);
  if (type == Type::kQ8_0) {
    for (uint32_t c = 0; c < 32; ++c) values.codes[c] = byte_at(qs, c) ^ 0x80u;
  } else if (format.high_bits > 0) {
    read_nibbles(qs + 4, qs, values);
  } else {
    read_nibbles(qs, nullptr, values);
  }
  return values;
}

void store_unit(Type type, std::byte* group, uint32_t r, uint32_t unit, const Unit& values) {
  const PackedFormat format = packed_format(type);
  std::byte* block = group + uint64_t{unit / format.units} * format.block_bytes();
  const uint32_t u = unit % format.units;
  const auto& codes = values.codes;
  std::byte* low = block + u * 64 * format.low_bits + 4 * r;
  std::byte* high = block + format.high_offset() + u * 64 * format.high_bits + 4 * r;
  for (uint32_t i = 0; i < 4; ++i) {
    if (format.low_bits == 8) {
      for (uint32_t j = 0; j < 8; ++j) put(low + 64 * j + i, codes[4 * j + i]);
    } else if (format.low_bits == 4) {
      for (uint32_t j = 0; j < 4; ++j)
        put(low + 64 * j + i, (codes[4 * j + i] & 15u) | (codes[16 + 4 * j + i] & 15u) << 4);
    }
    const uint32_t shift = format.low_bits;
    for (uint32_t j = 0; j < 2; ++j) {
      unsigned lows = 0;
      unsigned highs = 0;
      for (uint32_t s = 0; s < 4; ++s) {
        lows |= (codes[16 * j + 4 * s + i] & 3u) << (2 * s);
        highs |= (codes[16 * j + 4 * s + i] >> shift & 3u) << (2 * s);
      }
      if (format.low_bits == 2) put(low + 64 * j + i, lows);
      if (format.high_bits == 2) put(high + 64 * j + i, highs);
    }
    if (format.high_bits == 1) {
      unsigned bits = 0;
      for (uint32_t j = 0; j < 8; ++j) bits |= (codes[4 * j + i] >> shift & 1u) << j;
      put(high + i, bits);
    }
  }
  if (format.sub_bytes > 0) store_sub(type, block + format.sub_offset(), r, u, values);
  const uint32_t d_bytes = format.d_bytes / kGroupRows;
  std::memcpy(block + format.d_offset() + d_bytes * r, &values.d, d_bytes);
  if (format.has_min) std::memcpy(block + format.d_offset() + 32 + 2 * r, &values.min, 2);
}

void pack_row(Type type, const std::byte* row, uint32_t n_units, std::byte* group, uint32_t r) {
  if (type != Type::kQ4_0 && type != Type::kQ4_1) {
    for (uint32_t unit = 0; unit < n_units; ++unit) {
      store_unit(type, group, r, unit, read_file_unit(type, row, unit));
    }
    return;
  }
  // The file's nibbles are in packed order already: whole words move.
  const PackedFormat format = packed_format(type);
  const size_t header = format.has_min ? 4 : 2;
  for (uint32_t unit = 0; unit < n_units; ++unit) {
    const std::byte* from = row + size_t{unit} * (header + 16);
    std::byte* to = group + size_t{unit} * format.block_bytes();
    for (size_t j = 0; j < 4; ++j) std::memcpy(to + 64 * j + 4 * r, from + header + 4 * j, 4);
    std::memcpy(to + format.d_offset() + 2 * r, from, 2);
    if (format.has_min) std::memcpy(to + format.d_offset() + 32 + 2 * r, from + 2, 2);
  }
}

Unit load_unit(Type type, const std::byte* group, uint32_t r, uint32_t unit) {
  const PackedFormat format = packed_format(type);
  const std::byte* block = group + uint64_t{unit / format.units} * format.block_bytes();
  const uint32_t u = unit % format.units;
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
