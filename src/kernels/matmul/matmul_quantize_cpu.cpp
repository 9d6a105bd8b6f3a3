// Activations to int8 with a scale per unit of 32 columns.
#include <algorithm>
#include <bit>
#include <cstring>

#include "kernels/matmul/job.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/matmul/matmul_quantize_cpu.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/matmul/codes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace puna::kernels::HWY_NAMESPACE {

// Four columns, in the order of ActivationCode.
HWY_INLINE void store_columns(const int8_t* codes, ActivationCode* out) {
  if constexpr (sizeof(ActivationCode) == 1) {
    std::memcpy(out, codes, 4);
  } else {
    for (const int column : {0, 2, 1, 3}) *out++ = codes[column];
  }
}

// One unit of one row: codes rounded to nearest even of x * 127 / max |x|. What rounding leaves of
// x goes to `left`, unless that is null.
HWY_INLINE void quantize_unit(const float* x, QuantizedRows out, size_t tile, size_t unit,
                              size_t place, float* left) {
  const DF df;
  // By the bits, whose order is that of magnitudes with NaN above all: the maximum of floats may
  // lose it, and what is no number would become one. The scale of such a unit is NaN.
  VI largest = hn::Zero(DI());
  for (size_t i = 0; i < kUnitCols; i += kLanes)
    largest = hn::Max(largest, hn::BitCast(DI(), hn::Abs(hn::LoadU(df, x + i))));
  const float max = std::bit_cast<float>(hn::ReduceMax(DI(), largest));
  const float inverse = max > 1e-30f ? 127.0f / max : 0.0f;
  const float scale = max / 127.0f;
  alignas(64) int8_t codes[kUnitCols];
  int32_t sums[2];
  for (size_t h = 0; h < 2; ++h) {
    VI sum = hn::Zero(DI());
    for (size_t i = 16 * h; i < 16 * h + 16; i += kLanes) {
      const VF value = hn::LoadU(df, x + i);
      const VI code = hn::NearestInt(hn::Mul(value, hn::Set(df, inverse)));
      sum = hn::Add(sum, code);
      if (left)
        hn::Store(hn::NegMulAdd(hn::ConvertTo(df, code), hn::Set(df, scale), value), df, left + i);
      hn::Store(hn::DemoteTo(hn::Rebind<int8_t, DF>(), code), hn::Rebind<int8_t, DF>(), codes + i);
    }
    sums[h] = hn::ReduceSum(DI(), sum);
  }
  const size_t at = (tile * out.units + unit) * out.width + place;
  if (out.width == kMatrixRows) {
    std::copy_n(codes, kUnitCols, out.codes + at * kUnitCols);
  } else {
    for (size_t j = 0; j < 8; ++j) {
      store_columns(codes + 4 * j,
                    out.codes + (((tile * out.units + unit) * 8 + j) * out.width + place) * 4);
    }
  }
  out.scale[at] = scale;
  out.sums[at] = scale * static_cast<float>(sums[0] + sums[1]);
  const size_t half = (tile * out.units + unit) * 2 * out.width + place;
  out.half_sums[half] = scale * static_cast<float>(sums[0]);
  out.half_sums[half + out.width] = scale * static_cast<float>(sums[1]);
}

void quantize_all(const MatmulJob& job, uint32_t begin, uint32_t end) {
  const QuantizedRows& out = job.x8;
  static constexpr float kNothing[kUnitCols] = {};
  const bool two = out.planes == 2;
  for (size_t tile = begin; tile < end; ++tile) {
    for (size_t place = 0; place < out.width; place += out.planes) {
      const size_t row = (tile * out.width + place) / out.planes;
      for (size_t unit = 0; unit < out.units; ++unit) {
        const float* x = row < job.args.n_rows
                             ? job.args.x + row * job.args.x_stride + unit * kUnitCols
                             : kNothing;
        alignas(64) float left[kUnitCols];
        quantize_unit(x, out, tile, unit, place, two ? left : nullptr);
        if (two) quantize_unit(left, out, tile, unit, place + 1, nullptr);
      }
    }
  }
}

}  // namespace puna::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace puna::kernels {
HWY_EXPORT(quantize_all);

void quantize_tiles(const MatmulJob& job, uint32_t begin, uint32_t end) {
  HWY_DYNAMIC_DISPATCH(quantize_all)(job, begin, end);
}

}  // namespace puna::kernels
#endif
