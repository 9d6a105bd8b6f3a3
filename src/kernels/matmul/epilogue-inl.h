// From the sums of one weight group to y: store, add, gate or cap.
#if defined(PUNA_KERNELS_MATMUL_EPILOGUE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef PUNA_KERNELS_MATMUL_EPILOGUE_INL_H
#undef PUNA_KERNELS_MATMUL_EPILOGUE_INL_H
#else
#define PUNA_KERNELS_MATMUL_EPILOGUE_INL_H
#endif

#include <algorithm>

#include "kernels/common/math-inl.h"
#include "kernels/matmul/job.h"

HWY_BEFORE_NAMESPACE();
namespace puna::kernels::HWY_NAMESPACE {

using DE = hn::CappedTag<float, kGroupRows>;
constexpr size_t kEpilogueLanes = hn::MaxLanes(DE());

// y[t][0..n_out) = combine(y, sums) a vector at a time.
template <class Combine>
HWY_INLINE void write_rows(const float* sums, uint32_t n_tokens, uint32_t n_out, float* y,
                           size_t y_stride, const Combine& combine) {
  const DE d;
  for (size_t t = 0; t < n_tokens; ++t, sums += kGroupRows, y += y_stride) {
    if (n_out == kGroupRows) {
      for (size_t i = 0; i < kGroupRows; i += kEpilogueLanes)
        combine(d, hn::Load(d, sums + i), y + i, kEpilogueLanes);
    } else {
      for (size_t i = 0; i < n_out; i += kEpilogueLanes)
        combine(d, hn::Load(d, sums + i), y + i, n_out - i);
    }
  }
}

struct StoreSums {
  template <class V>
  HWY_INLINE void operator()(DE d, V v, float* y, size_t n) const {
    hn::StoreN(v, d, y, n);
  }
};
struct AddSums {
  template <class V>
  HWY_INLINE void operator()(DE d, V v, float* y, size_t n) const {
    hn::StoreN(hn::Add(v, hn::LoadN(d, y, n)), d, y, n);
  }
};
struct CapSums {
  float cap;
  template <class V>
  HWY_INLINE void operator()(DE d, V v, float* y, size_t n) const {
    hn::StoreN(softcap(d, v, cap), d, y, n);
  }
};

// A group's sums are four blocks of 4: gate, up, gate, up. Two tokens side by side fill a vector
// with gates and one with ups. Reads one row of sums past the last when n_tokens is odd.
template <class Gate>
HWY_INLINE void gate_rows(float* sums, uint32_t n_tokens, uint32_t n_out, float* y, size_t y_stride,
                          const Gate& gate_up) {
  const hn::CappedTag<float, 4> d4;
  for (size_t t = 0; t < n_tokens; t += 2) {
    float* s = sums + t * kGroupRows;
    alignas(64) float out[2 * kGroupRows];
    if constexpr (kEpilogueLanes >= 8) {
      const DE d;
      for (size_t i = 0; i < kGroupRows; i += kEpilogueLanes) {
        const auto even = hn::Load(d, s + i);
        const auto odd = hn::Load(d, s + kGroupRows + i);
        const auto gate = hn::OddEvenBlocks(hn::SwapAdjacentBlocks(odd), even);
        const auto up = hn::OddEvenBlocks(odd, hn::SwapAdjacentBlocks(even));
        hn::Store(gate_up(d, gate, up), d, out + i);
      }
    } else {
      for (size_t i = 0; i < 4; ++i) {  // block i of `out` as above: of token t + i % 2
        const float* pair = s + (i % 2) * kGroupRows + (i / 2) * 8;
        hn::Store(gate_up(d4, hn::Load(d4, pair), hn::Load(d4, pair + 4)), d4, out + 4 * i);
      }
    }
    for (size_t i = 0; i < 2 && t + i < n_tokens; ++i) {
      float* row = y + (t + i) * y_stride;
      hn::StoreU(hn::Load(d4, out + 4 * i), d4, row);
      if (n_out > 4) hn::StoreU(hn::Load(d4, out + 8 + 4 * i), d4, row + 4);
    }
  }
}

template <class Activate>
struct ActivateGate {
  Activate activate;
  template <class D, class V>
  HWY_INLINE V operator()(D d, V gate, V up) const {
    return hn::Mul(activate(d, gate), up);
  }
};
struct ClampGate {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V gate, V up) const {
    const V most = hn::Set(d, 7.0f);
    const V g = hn::Min(gate, most);
    const V u = hn::Max(hn::Min(up, most), hn::Set(d, -7.0f));
    return hn::Mul(gate_by_logistic(d, g, hn::Mul(g, hn::Set(d, 1.702f))),
                   hn::Add(u, hn::Set(d, 1.0f)));
  }
};

template <class Activate>
struct ActivateSums {
  Activate activate;
  template <class V>
  HWY_INLINE void operator()(DE d, V v, float* y, size_t n) const {
    hn::StoreN(activate(d, v), d, y, n);
  }
};

// sums = scale * (sums + bias), bias from its element of the group's first row on.
HWY_INLINE void shift_and_scale(const float* bias, float scale, uint32_t n_valid, uint32_t n_tokens,
                                float* sums) {
  const DE d;
  const auto factor = hn::Set(d, scale);
  for (size_t i = 0; i < n_valid; i += kEpilogueLanes) {
    const auto shift = bias ? hn::LoadN(d, bias + i, n_valid - i) : hn::Zero(d);
    for (size_t t = 0; t < n_tokens; ++t) {
      float* at = sums + t * kGroupRows + i;
      hn::Store(hn::Mul(hn::Add(hn::Load(d, at), shift), factor), d, at);
    }
  }
}

// Sums [2 * n_tokens][16] of both planes of each row to [n_tokens][16], in place.
HWY_INLINE void add_planes(uint32_t n_tokens, float* sums) {
  const DE d;
  for (size_t t = 0; t < n_tokens; ++t) {
    const float* planes = sums + 2 * t * kGroupRows;
    for (size_t i = 0; i < kGroupRows; i += kEpilogueLanes) {
      const auto both = hn::Add(hn::Load(d, planes + i), hn::Load(d, planes + kGroupRows + i));
      hn::Store(both, d, sums + t * kGroupRows + i);
    }
  }
}

// sums [n_tokens + 1][16] of weight rows 16 * group .. for activation rows from first_token on.
HWY_INLINE void write_group(const MatmulJob& job, uint32_t group, uint32_t first_token,
                            uint32_t n_tokens, float* sums) {
  const MatmulCpuArgs& args = job.args;
  const bool gated = is_gated(args.epilogue);
  const uint32_t group_out = gated ? kGroupRows / 2 : kGroupRows;
  const uint32_t n_valid = std::min(kGroupRows, job.rows - group * kGroupRows);
  const uint32_t n_out = gated ? n_valid / 2 : n_valid;
  float* y = args.y + size_t{first_token} * args.y_stride + args.y_column + group * group_out;
  if (args.bias || args.scale != 1.0f) {
    shift_and_scale(args.bias ? args.bias + size_t{group} * kGroupRows : nullptr, args.scale,
                    n_valid, n_tokens, sums);
  }
  switch (args.epilogue) {
    case Epilogue::kStore:
      return write_rows(sums, n_tokens, n_out, y, args.y_stride, StoreSums());
    case Epilogue::kAdd:
      return write_rows(sums, n_tokens, n_out, y, args.y_stride, AddSums());
    case Epilogue::kSoftcap:
      return write_rows(sums, n_tokens, n_out, y, args.y_stride, CapSums{args.softcap});
    case Epilogue::kSwiGlu:
    case Epilogue::kGeGlu:
      return with_activation(
          args.epilogue == Epilogue::kSwiGlu ? Activation::kSilu : Activation::kGeluTanh,
          [&](auto activate) HWY_ATTR {
            gate_rows(sums, n_tokens, n_out, y, args.y_stride,
                      ActivateGate<decltype(activate)>{activate});
          });
    case Epilogue::kSwiGluClamped:
      return gate_rows(sums, n_tokens, n_out, y, args.y_stride, ClampGate());
    case Epilogue::kActivate:
      return with_activation(args.activation, [&](auto activate) HWY_ATTR {
        write_rows(sums, n_tokens, n_out, y, args.y_stride,
                   ActivateSums<decltype(activate)>{activate});
      });
  }
}

}  // namespace puna::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
