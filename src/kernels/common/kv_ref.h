// Plain reads and writes of the paged KV cache, one element or one head row at a time: the oracle
// for every layout of step.h.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>

#include "base/half.h"
#include "kernels/common/step.h"

namespace puna::kernels {

// Index of a head row (page, head, slot) in units of head_dim elements.
inline uint64_t kv_row(const KvLayout& kv, uint32_t page, uint32_t head, uint32_t slot) {
  return (uint64_t{page} * kv.n_kv_heads + head) * kPageTokens + slot;
}

// Byte offset of the f16 scale of element d of a q8_0 or q4_0 head row.
inline uint64_t kv_scale_offset(const KvLayout& kv, uint64_t row, uint32_t d) {
  return kv.scales_offset() + (row * ((kv.head_dim + 63) / 64) + d / 64) * 4 + d / 32 % 2 * 2;
}

// Element d of a head row, decoded.
inline float kv_load_ref(const KvLayout& kv, const std::byte* cache, uint64_t row, uint32_t d) {
  const uint64_t element = row * kv.head_dim + d;
  uint16_t half = 0;
  if (kv.type == KvType::kF32) {
    float value = 0;
    std::memcpy(&value, cache + element * 4, 4);
    return value;
  }
  if (kv.type == KvType::kF16) {
    std::memcpy(&half, cache + element * 2, 2);
    return base::f16_to_f32(half);
  }
  std::memcpy(&half, cache + kv_scale_offset(kv, row, d), 2);
  const float scale = base::f16_to_f32(half);
  if (kv.type == KvType::kQ8_0)
    return scale * static_cast<float>(static_cast<int8_t>(cache[element]));
  const auto byte = static_cast<unsigned>(cache[element / 2]);
  return scale * (static_cast<float>(byte >> (element % 2 * 4) & 15u) - 8.0f);
}

// q4_0: scale = f16(m / -8), m being the first of the elements of largest magnitude; code = x /
// scale
// + 8 rounded half up and kept within 0 to 15.
inline void kv_store_q4_ref(const KvLayout& kv, std::byte* cache, uint64_t row, const float* x) {
  for (uint32_t block = 0; block < kv.head_dim; block += 32) {
    float extreme = 0;
    for (uint32_t i = 0; i < 32; ++i) {
      if (!(std::fabs(x[block + i]) <= std::fabs(extreme))) extreme = x[block + i];
      if (std::isnan(extreme)) break;  // and so is the scale
    }
    const uint16_t half = base::f32_to_f16(extreme / -8.0f);
    std::memcpy(cache + kv_scale_offset(kv, row, block), &half, 2);
    const float scale = base::f16_to_f32(half);
    const float inverse = scale != 0 && !std::isnan(scale) ? 1.0f / scale : 0.0f;
    for (uint32_t i = 0; i < 32; i += 2) {
      unsigned byte = 0;
      for (uint32_t j = 0; j < 2; ++j) {
        const float code = std::floor(x[block + i + j] * inverse + 8.5f);
        byte |= static_cast<unsigned>((code > 0 ? std::min(code, 15.0f) : 0.0f)) << (4 * j);
      }
      cache[(row * kv.head_dim + block + i) / 2] = static_cast<std::byte>(byte);
    }
  }
}

// Encodes head_dim values into a head row. f16 rounds to nearest even. q8_0: scale = f16(max |x| /
// 127) per 32 elements, code = x / scale rounded to nearest even and kept within +-127 (all zero
// when the scale rounds to zero).
inline void kv_store_ref(const KvLayout& kv, std::byte* cache, uint64_t row, const float* x) {
  for (uint32_t d = 0; d < kv.head_dim; ++d) {
    const uint64_t element = row * kv.head_dim + d;
    if (kv.type == KvType::kF32) std::memcpy(cache + element * 4, &x[d], 4);
    if (kv.type == KvType::kF16) {
      const uint16_t half = base::f32_to_f16(x[d]);
      std::memcpy(cache + element * 2, &half, 2);
    }
  }
  if (kv.type == KvType::kQ4_0) return kv_store_q4_ref(kv, cache, row, x);
  if (kv.type != KvType::kQ8_0) return;
  for (uint32_t block = 0; block < kv.head_dim; block += 32) {
    float largest = 0;
    for (uint32_t i = 0; i < 32; ++i) largest = std::max(largest, std::fabs(x[block + i]));
    const uint16_t half = base::f32_to_f16(largest / 127.0f);
    std::memcpy(cache + kv_scale_offset(kv, row, block), &half, 2);
    const float scale = base::f16_to_f32(half);
    for (uint32_t i = 0; i < 32; ++i) {
      const float code = scale > 0 ? std::nearbyint(x[block + i] / scale) : 0.0f;
      cache[row * kv.head_dim + block + i] =
          static_cast<std::byte>(static_cast<int8_t>(std::clamp(code, -127.0f, 127.0f)));
    }
  }
}

}  // namespace puna::kernels
