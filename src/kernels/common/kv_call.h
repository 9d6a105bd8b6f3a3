// What the kernels that touch the KV cache say about it: the checks and the defines of its layout.
#pragma once

#include "base/result.h"
#include "kernels/common/describe.h"
#include "kernels/common/step.h"

namespace puna::kernels {

inline base::Result<void> check_kv(const std::string& label, const KvLayout& kv, uint32_t n_heads) {
  const uint32_t multiple = is_block(kv.type) ? 32 : 4;
  if (kv.head_dim == 0 || kv.head_dim % multiple != 0) {
    return base::fail(
        base::ErrorCode::kUnsupported,
        fmt::format("{} has heads of {} elements; this KV type needs a multiple of {}.", label,
                    kv.head_dim, multiple));
  }
  if (kv.n_kv_heads == 0 || n_heads == 0 || n_heads % kv.n_kv_heads != 0) {
    return base::fail(base::ErrorCode::kUnsupported,
                      fmt::format("{} has {} query heads, not a multiple of its {} KV heads.",
                                  label, n_heads, kv.n_kv_heads));
  }
  return {};
}

inline void define_kv(Describe& call, const KvLayout& kv, uint32_t pages_per_sequence) {
  call.number("KV_F32", kv.type == KvType::kF32)
      .number("KV_F16", kv.type == KvType::kF16)
      .number("KV_Q8_0", kv.type == KvType::kQ8_0)
      .number("KV_Q4_0", kv.type == KvType::kQ4_0);
  call.number("HEAD_DIM", kv.head_dim)
      .number("N_KV_HEADS", kv.n_kv_heads)
      .number("SCALES_OFFSET", kv.scales_offset());
  call.number("PAGES_PER_SEQUENCE", pages_per_sequence);
}

}  // namespace puna::kernels
