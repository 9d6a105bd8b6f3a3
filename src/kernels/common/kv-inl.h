// Head rows of the paged KV cache (step.h) to and from f32, vectorised; kv_ref.h is the plain form.
#if defined(PUNA_KERNELS_COMMON_KV_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef PUNA_KERNELS_COMMON_KV_INL_H
#undef PUNA_KERNELS_COMMON_KV_INL_H
#else
#define PUNA_KERNELS_COMMON_KV_INL_H
#endif

#include "hwy/highway.h"
#include "kernels/common/halves-inl.h"
#include "kernels/common/kv_ref.h"

HWY_BEFORE_NAMESPACE();
namespace puna::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// n elements from `element` on as f32.
HWY_INLINE void widen_half(const std::byte* cache, uint64_t element, size_t n, float* out) {
  const hn::ScalableTag<float> d;
  const size_t lanes = hn::Lanes(d);
  const auto* in = reinterpret_cast<const hwy::float16_t*>(cache) + element;
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(load_halves(d, in + i), d, out + i);
  for (; i < n; ++i) {
    uint16_t half = 0;
    std::memcpy(&half, in + i, 2);
    out[i] = base::f16_to_f32(half);
  }
}

// n_rows head rows of q4_0 as f32.
HWY_INLINE void widen_nibbles(const KvLayout& kv, const std::byte* cache, uint64_t row,
                              size_t n_rows, float* out) {
  const hn::CappedTag<float, 8> d;
  const hn::Rebind<uint32_t, decltype(d)> du;
  const hn::Rebind<int32_t, decltype(d)> di;
  const size_t lanes = hn::Lanes(d);
  const size_t head_dim = kv.head_dim;
  for (size_t r = 0; r < n_rows; ++r) {
    for (size_t block = 0; block < head_dim; block += 32) {
      uint16_t half = 0;
      std::memcpy(&half, cache + kv_scale_offset(kv, row + r, static_cast<uint32_t>(block)), 2);
      const auto scale = hn::Set(d, base::f16_to_f32(half));
      for (size_t i = 0; i < 32; i += 8) {
        uint32_t word = 0;
        std::memcpy(&word, cache + ((row + r) * head_dim + block + i) / 2, 4);
        for (size_t j = 0; j < 8; j += lanes) {
          const auto shift = hn::Mul(hn::Iota(du, static_cast<uint32_t>(j)), hn::Set(du, 4u));
          const auto code = hn::And(hn::Shr(hn::Set(du, word), shift), hn::Set(du, 15u));
          const auto value = hn::Sub(hn::ConvertTo(d, hn::BitCast(di, code)), hn::Set(d, 8.0f));
          hn::StoreU(hn::Mul(value, scale), d, out + r * head_dim + block + i + j);
        }
      }
    }
  }
}

// n_rows consecutive head rows (slots of one page and head) as f32 [n_rows][head_dim]; returns
// where they are, which for f32 is the cache itself.
HWY_INLINE const float* load_kv_rows(const KvLayout& kv, const std::byte* cache, uint64_t row,
                                     size_t n_rows, float* buffer) {
  const size_t head_dim = kv.head_dim;
  const uint64_t element = row * head_dim;
  if (kv.type == KvType::kF32) return reinterpret_cast<const float*>(cache) + element;
  if (kv.type == KvType::kF16) {
    widen_half(cache, element, n_rows * head_dim, buffer);
    return buffer;
  }
  if (kv.type == KvType::kQ4_0) {
    widen_nibbles(kv, cache, row, n_rows, buffer);
    return buffer;
  }
  const hn::CappedTag<float, 32> d;
  const hn::Rebind<int8_t, decltype(d)> d8;
  const hn::Rebind<int32_t, decltype(d)> d32;
  for (size_t r = 0; r < n_rows; ++r) {
    for (size_t block = 0; block < head_dim; block += 32) {
      uint16_t half = 0;
      std::memcpy(&half, cache + kv_scale_offset(kv, row + r, static_cast<uint32_t>(block)), 2);
      const auto scale = hn::Set(d, base::f16_to_f32(half));
      const size_t at = r * head_dim + block;
      const int8_t* codes = reinterpret_cast<const int8_t*>(cache) + element + at;
      for (size_t i = 0; i < 32; i += hn::Lanes(d)) {
        const auto code = hn::ConvertTo(d, hn::PromoteTo(d32, hn::LoadU(d8, codes + i)));
        hn::StoreU(hn::Mul(code, scale), d, buffer + at + i);
      }
    }
  }
  return buffer;
}

// Encodes one head row.
HWY_INLINE void store_kv_row(const KvLayout& kv, std::byte* cache, uint64_t row, const float* x) {
  const size_t n = kv.head_dim;
  if (kv.type == KvType::kQ4_0) return kv_store_q4_ref(kv, cache, row, x);
  if (kv.type == KvType::kF32) {
    std::memcpy(cache + row * n * 4, x, n * 4);
    return;
  }
  if (kv.type == KvType::kF16) {
    const hn::ScalableTag<float> d;
    const hn::Rebind<hwy::float16_t, decltype(d)> d16;
    const size_t lanes = hn::Lanes(d);
    auto* out = reinterpret_cast<hwy::float16_t*>(cache) + row * n;
    size_t i = 0;
    for (; i + lanes <= n; i += lanes)
      hn::StoreU(hn::DemoteTo(d16, hn::LoadU(d, x + i)), d16, out + i);
    for (; i < n; ++i) {
      const uint16_t half = base::f32_to_f16(x[i]);
      std::memcpy(out + i, &half, 2);
    }
    return;
  }
  const hn::CappedTag<float, 32> d;
  const hn::Rebind<int8_t, decltype(d)> d8;
  for (size_t block = 0; block < n; block += 32) {
    // By the bits: NaN stays the largest, and the scale is NaN.
    const hn::Rebind<int32_t, decltype(d)> bits;
    auto largest = hn::Zero(bits);
    for (size_t i = 0; i < 32; i += hn::Lanes(d))
      largest = hn::Max(largest, hn::BitCast(bits, hn::Abs(hn::LoadU(d, x + block + i))));
    const uint16_t half =
        base::f32_to_f16(std::bit_cast<float>(hn::ReduceMax(bits, largest)) / 127.0f);
    std::memcpy(cache + kv_scale_offset(kv, row, static_cast<uint32_t>(block)), &half, 2);
    const float scale = base::f16_to_f32(half);
    const auto inverse = hn::Set(d, scale > 0 ? 1.0f / scale : 0.0f);
    int8_t* codes = reinterpret_cast<int8_t*>(cache) + row * n + block;
    for (size_t i = 0; i < 32; i += hn::Lanes(d)) {
      // Rounding the quotient and its clamp to +-127 (the scale may have been rounded down).
      auto code = hn::NearestInt(hn::Mul(hn::LoadU(d, x + block + i), inverse));
      code = hn::Max(hn::Min(code, hn::Set(hn::Rebind<int32_t, decltype(d)>(), 127)),
                     hn::Set(hn::Rebind<int32_t, decltype(d)>(), -127));
      hn::StoreU(hn::DemoteTo(d8, code), d8, codes + i);
    }
  }
}

}  // namespace puna::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
