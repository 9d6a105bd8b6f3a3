// Products of int8 activations with the codes of 16 weight rows, some activation rows at a time:
//   y[t, r] = sum over units of  scale[t] * a[r] * (codes[r] . x[t])  +  b[r] * scale[t] *
//   sum(x[t])
// Codes and scales come from a source, which unpacks them on the way or finds them unpacked.
#if defined(PUNA_KERNELS_MATMUL_INT8_TILE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef PUNA_KERNELS_MATMUL_INT8_TILE_INL_H
#undef PUNA_KERNELS_MATMUL_INT8_TILE_INL_H
#else
#define PUNA_KERNELS_MATMUL_INT8_TILE_INL_H
#endif

#include "hwy/cache_control.h"
#include "hwy/highway.h"
#include "kernels/matmul/codes-inl.h"
#include "kernels/matmul/dot-inl.h"
#include "kernels/matmul/panel.h"

HWY_BEFORE_NAMESPACE();
namespace puna::kernels::HWY_NAMESPACE {

constexpr float kOffset8 = kSignedBytes ? 0.0f : 128.0f;

// How far ahead of the unit in work memory is asked for. Processors follow one stream by
// themselves, but not the fields of a block: q6_k is read at 31 instead of 15 GB/s, q5_k at 28
// instead of 15 (2 threads of a Zen 5; anything from 4 to 32 KiB does).
constexpr size_t kAheadBytes = 6144;

// What holds vectors has constructors of its own: one that the compiler adds would not be compiled
// for the target.

// A unit's codes and scales from packed blocks.
template <quant::Type kType>
struct PackedSource {
  static constexpr size_t kHalves = Codec<kType>::kHalves;
  static constexpr unsigned kMaxCode = Codec<kType>::kFormat.max_code;
  static constexpr size_t kUnits = Codec<kType>::kFormat.units;
  const uint8_t* group;
  VB codes[8];
  VF a[kHalves], b[kHalves];

  HWY_INLINE explicit PackedSource(const uint8_t* packed) : group(packed) {}
  HWY_INLINE void load(size_t unit, size_t v) {
    const uint8_t* block = group + unit / kUnits * Codec<kType>::kFormat.block_bytes();
    constexpr size_t kUnitBytes = Codec<kType>::kFormat.block_bytes() / kUnits;
    if (v == 0) {
      for (size_t at = 0; at < kUnitBytes; at += 64)
        hwy::Prefetch(group + unit * kUnitBytes + kAheadBytes + at);
    }
    Codec<kType>::codes(block, unit % kUnits, v, codes);
    Codec<kType>::scales(block, unit % kUnits, v, kOffset8, a, b);
  }
  template <int j>
  HWY_INLINE VB code() const {
    return codes[j];
  }
  template <int h>
  HWY_INLINE VF scale() const {
    return a[h];
  }
  template <int h>
  HWY_INLINE VF offset() const {
    return b[h];
  }
};

// The same unpacked before.
template <unsigned kMax, size_t kHalves_>
struct PanelSource {
  static constexpr size_t kHalves = kHalves_;
  static constexpr unsigned kMaxCode = kMax;
  const Panel* panel;
  const uint8_t* codes;
  const float* a;
  const float* b;

  HWY_INLINE void load(size_t unit, size_t v) {
    codes = panel->codes + unit * 512 + v * kSliceBytes;
    a = panel->a + unit * kHalves * kGroupRows + v * kLanes;
    b = panel->b + unit * kHalves * kGroupRows + v * kLanes;
  }
  template <int j>
  HWY_INLINE VB code() const {
    return hn::Load(DB(), codes + 64 * j);
  }
  template <int h>
  HWY_INLINE VF scale() const {
    return hn::Load(DF(), a + h * kGroupRows);
  }
  template <int h>
  HWY_INLINE VF offset() const {
    return hn::Load(DF(), b + h * kGroupRows);
  }
};

// One unit of 32 columns, or one half of it, for kRows activation rows in tiles of kWidth.
template <class Form, int kRows, int kWidth, class Source>
struct Rows {
  static constexpr int kHalves = static_cast<int>(Source::kHalves);
  static constexpr int kSteps = 8 / kHalves;
  const ActivationCode* codes[kRows / kWidth];
  const float* scale[kRows / kWidth];
  const float* sums[kRows / kWidth];
  VF f[kRows];

  HWY_INLINE Rows() = default;
  template <int kHalf, int j, class Dots>
  HWY_INLINE void step(const Source& source, Dots& dots) {
    const VB w = source.template code<kHalf * kSteps + j>();
    for (int t = 0; t < kRows; ++t) {
      dots[t].template add<j>(w,
                              codes[t / kWidth] + ((kHalf * kSteps + j) * kWidth + t % kWidth) * 4);
    }
  }
  template <int kHalf>
  HWY_INLINE void half(const Source& source) {
    typename Form::template Dot<Source::kMaxCode, kSteps> dots[kRows];
    step<kHalf, 0>(source, dots);
    step<kHalf, 1>(source, dots);
    step<kHalf, 2>(source, dots);
    step<kHalf, 3>(source, dots);
    if constexpr (kSteps == 8) {
      step<kHalf, 4>(source, dots);
      step<kHalf, 5>(source, dots);
      step<kHalf, 6>(source, dots);
      step<kHalf, 7>(source, dots);
    }
    const VF a = source.template scale<kHalf>();
    const VF b = source.template offset<kHalf>();
    for (int t = 0; t < kRows; ++t) {
      const VF product = hn::Mul(hn::ConvertTo(DF(), dots[t].total()),
                                 hn::Set(DF(), scale[t / kWidth][t % kWidth]));
      f[t] = hn::MulAdd(product, a, f[t]);
      f[t] = hn::MulAdd(b, hn::Set(DF(), sums[t / kWidth][kHalf * kWidth + t % kWidth]), f[t]);
    }
  }
  HWY_INLINE void unit(const Source& source) {
    half<0>(source);
    if constexpr (kHalves == 2) half<1>(source);
    for (int g = 0; g < kRows / kWidth; ++g) {
      codes[g] += 32 * kWidth;
      scale[g] += kWidth;
      sums[g] += kHalves * kWidth;
    }
  }
};

// Adds units [first_unit, first_unit + n_units) for kRows activation rows from `row` on to sums
// [kRows][16]; the source counts its units from 0.
template <class Form, int kRows, int kWidth, class Source>
HWY_INLINE void tile(const MatmulJob& job, Source& source, size_t first_unit, size_t n_units,
                     size_t row, float* sums) {
  const QuantizedRows& x = job.x8;
  for (size_t v = 0; v < kSlices; ++v) {
    Rows<Form, kRows, kWidth, Source> rows;
    for (size_t g = 0; g < kRows / kWidth; ++g) {
      const size_t at = ((row / kWidth + g) * x.units + first_unit) * kWidth;
      rows.codes[g] = x.codes + at * 32;
      rows.scale[g] = x.scale + at;
      rows.sums[g] = Source::kHalves == 2 ? x.half_sums + at * 2 : x.sums + at;
    }
    for (int t = 0; t < kRows; ++t) {
      rows.f[t] =
          first_unit == 0 ? hn::Zero(DF()) : hn::Load(DF(), sums + t * kGroupRows + v * kLanes);
    }
    for (size_t unit = 0; unit < n_units; ++unit) {
      source.load(unit, v);
      rows.unit(source);
    }
    for (int t = 0; t < kRows; ++t) hn::Store(rows.f[t], DF(), sums + t * kGroupRows + v * kLanes);
  }
}

}  // namespace puna::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
