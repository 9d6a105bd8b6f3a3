// From the sums of one weight group to y: store, add, gate or cap.
#if defined(PUNA_KERNELS_MATMUL_EPILOGUE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PUNA_KERNELS_MATMUL_EPILOGUE_INL_H_
#undef PUNA_KERNELS_MATMUL_EPILOGUE_INL_H_
#else
#define PUNA_KERNELS_MATMUL_EPILOGUE_INL_H_
#endif

#include <algorithm>
#include <cstring>

#include "kernels/common/math-inl.h"
#include "kernels/matmul/job.h"

HWY_BEFORE_NAMESPACE();
namespace puna::kernels::HWY_NAMESPACE {

// sums [n_tokens][16] of weight rows 16 * group .. for activation rows from first_token on.
// Overwrites sums.
HWY_INLINE void write_group(const MatmulJob& job, uint32_t group, uint32_t first_token,
                            uint32_t n_tokens, float* sums) {
  const MatmulCpuArgs& args = job.args;
  const hn::CappedTag<float, 16> d;
  const hn::CappedTag<float, 4> d4;
  constexpr size_t kN = hn::MaxLanes(d);
  const bool gated = args.epilogue == Epilogue::kSwiGlu || args.epilogue == Epilogue::kGeGlu;
  const uint32_t n_valid = std::min(kGroupRows, job.rows - group * kGroupRows);
  const uint32_t n_out = gated ? n_valid / 2 : n_valid;
  for (uint32_t t = 0; t < n_tokens; ++t) {
    float* s = sums + size_t{t} * kGroupRows;
    float* y = args.y + size_t{first_token + t} * args.y_stride + args.y_column +
               group * (gated ? kGroupRows / 2 : kGroupRows);
    if (gated) {
      for (size_t i = 0; i < 2; ++i) {
        const auto gate = hn::Load(d4, s + 8 * i);
        const auto up = hn::Load(d4, s + 8 * i + 4);
        const auto active =
            args.epilogue == Epilogue::kSwiGlu ? silu(d4, gate) : gelu_tanh(d4, gate);
        hn::Store(hn::Mul(active, up), d4, s + 4 * i);
      }
    } else if (args.epilogue == Epilogue::kSoftcap) {
      for (size_t i = 0; i < kGroupRows; i += kN)
        hn::Store(softcap(d, hn::Load(d, s + i), args.softcap), d, s + i);
    } else if (args.epilogue == Epilogue::kAdd) {
      if (n_valid < kGroupRows) {
        for (uint32_t i = 0; i < n_out; ++i) y[i] += s[i];
      } else {
        for (size_t i = 0; i < kGroupRows; i += kN)
          hn::StoreU(hn::Add(hn::LoadU(d, y + i), hn::Load(d, s + i)), d, y + i);
      }
      continue;
    }
    std::memcpy(y, s, n_out * sizeof(float));
  }
}

}  // namespace puna::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
