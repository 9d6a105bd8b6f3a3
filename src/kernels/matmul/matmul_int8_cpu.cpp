// Fast products: int8 activations against packed codes, 4 columns of all 16 rows of a group at a
// time (one vpdpbusd on AVX-512 VNNI). One to eight activation rows decode the weights in registers
// on the way; more rows share a panel of unpacked codes.
//   y[t, r] = sum over units of  scale[t] * a[r] * (codes[r] . x[t])  +  b[r] * scale[t] *
//   sum(x[t])
#include <cstring>

#include "kernels/matmul/job.h"
#include "quant/unit.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/matmul/matmul_int8_cpu.cpp"
#include "hwy/cache_control.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/matmul/codes-inl.h"
#include "kernels/matmul/dot-inl.h"
#include "kernels/matmul/epilogue-inl.h"

HWY_BEFORE_NAMESPACE();
namespace puna::kernels::HWY_NAMESPACE {

constexpr float kOffset8 = kSignedBytes ? 0.0f : 128.0f;

// How far ahead of the unit in work memory is asked for. Processors follow one stream by
// themselves, but not the fields of a block: q6_k is read at 31 instead of 15 GB/s, q5_k at 28
// instead of 15 (2 threads of a Zen 5; anything from 4 to 32 KiB does).
constexpr size_t kAheadBytes = 6144;

// A unit's codes and scales from packed blocks.
template <quant::Type kType>
struct PackedSource {
  static constexpr size_t kHalves = Codec<kType>::kHalves;
  static constexpr unsigned kMaxCode = Codec<kType>::kFormat.max_code;
  static constexpr size_t kUnits = Codec<kType>::kFormat.units;
  const uint8_t* group;
  VB codes[8];
  VF a[kHalves], b[kHalves];

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

// The same unpacked before: bytes [unit][8][64], scales [unit][halves][16].
constexpr size_t kPanelUnits = 16;
template <unsigned kMax, size_t kHalves_>
struct Panel {
  static constexpr size_t kHalves = kHalves_;
  static constexpr unsigned kMaxCode = kMax;
  struct Data {
    alignas(64) uint8_t codes[kPanelUnits * 512];
    alignas(64) float a[kPanelUnits * kHalves * kGroupRows];
    alignas(64) float b[kPanelUnits * kHalves * kGroupRows];
  };
  const Data* data;
  const uint8_t* codes;
  const float* a;
  const float* b;

  HWY_INLINE void load(size_t unit, size_t v) {
    codes = data->codes + unit * 512 + v * kSliceBytes;
    a = data->a + unit * kHalves * kGroupRows + v * kLanes;
    b = data->b + unit * kHalves * kGroupRows + v * kLanes;
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

template <quant::Type kType, class P>
HWY_INLINE void unpack(const uint8_t* group, size_t first_unit, size_t n_units, P& panel) {
  PackedSource<kType> source;
  source.group = group;
  for (size_t unit = 0; unit < n_units; ++unit) {
    for (size_t v = 0; v < kSlices; ++v) {
      source.load(first_unit + unit, v);
      for (size_t j = 0; j < 8; ++j)
        hn::Store(source.codes[j], DB(), panel.codes + unit * 512 + j * 64 + v * kSliceBytes);
      for (size_t h = 0; h < source.kHalves; ++h) {
        const size_t at = (unit * source.kHalves + h) * kGroupRows + v * kLanes;
        hn::Store(source.a[h], DF(), panel.a + at);
        hn::Store(source.b[h], DF(), panel.b + at);
      }
    }
  }
}

// One unit of 32 columns, or one half of it, for kRows activation rows in tiles of kWidth.
template <class Form, int kRows, int kWidth, class Source>
struct Rows {
  static constexpr int kHalves = static_cast<int>(Source::kHalves);
  static constexpr int kSteps = 8 / kHalves;
  const ActivationCode* codes[kRows / kWidth];
  const float* scale[kRows / kWidth];
  const float* sums[kRows / kWidth];
  VF f[kRows];

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
// [kRows][16]; the source counts its units from source_unit on.
template <class Form, int kRows, int kWidth, class Source>
HWY_INLINE void tile(const MatmulJob& job, Source source, size_t source_unit, size_t first_unit,
                     size_t n_units, size_t row, float* sums) {
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
      source.load(source_unit + unit, v);
      rows.unit(source);
    }
    for (int t = 0; t < kRows; ++t) hn::Store(rows.f[t], DF(), sums + t * kGroupRows + v * kLanes);
  }
}

template <class Form, quant::Type kType>
HWY_INLINE void few_rows(const MatmulJob& job, uint32_t group, uint32_t first, uint32_t n,
                         float* sums) {
  PackedSource<kType> source;
  source.group = reinterpret_cast<const uint8_t*>(job.packed) + group * job.group_bytes;
  const size_t units = job.x8.units;
  if (job.x8.width == 1) return tile<Form, 1, 1>(job, source, 0, 0, units, 0, sums);
  for (uint32_t t = 0; t < n; t += 4)
    tile<Form, 4, 4>(job, source, 0, 0, units, first + t, sums + t * kGroupRows);
}

// Panels of units, each filled once for all n activation rows.
template <class Form, class Source, bool kOneRow, class Fill>
HWY_INLINE void panel_rows(const MatmulJob& job, uint32_t first, uint32_t n, float* sums,
                           const Fill& fill) {
  typename Source::Data panel;
  Source source;
  source.data = &panel;
  for (size_t unit = 0; unit < job.x8.units; unit += kPanelUnits) {
    const size_t n_units = HWY_MIN(kPanelUnits, job.x8.units - unit);
    fill(unit, n_units, panel);
    if constexpr (kOneRow) {
      tile<Form, 1, 1>(job, source, 0, unit, n_units, 0, sums);
    } else {
      constexpr int kPanelRows = Form::kPanelRows;
      uint32_t t = 0;
      for (; t + kPanelRows <= n; t += kPanelRows)
        tile<Form, kPanelRows, 4>(job, source, 0, unit, n_units, first + t, sums + t * kGroupRows);
      for (; t < n; t += 4)
        tile<Form, 4, 4>(job, source, 0, unit, n_units, first + t, sums + t * kGroupRows);
    }
  }
}

template <class Form, quant::Type kType>
HWY_INLINE void many_rows(const MatmulJob& job, uint32_t group, uint32_t first, uint32_t n,
                          float* sums) {
  using Source = Panel<Codec<kType>::kFormat.max_code, Codec<kType>::kHalves>;
  const uint8_t* packed = reinterpret_cast<const uint8_t*>(job.packed) + group * job.group_bytes;
  panel_rows<Form, Source, false>(job, first, n, sums,
                                  [&](size_t unit, size_t n_units, typename Source::Data& panel) {
                                    unpack<kType>(packed, unit, n_units, panel);
                                  });
}

// Types that are read unit by unit share one panel of signed bytes with two scales a unit.
using UnitPanel = Panel<255, 2>;

// The codes of 16 rows, each with `offset` added, to a unit of a panel: 4 x 4 words at a time.
HWY_INLINE void interleave(const quant::UnitCodes (&rows)[kGroupRows], uint32_t offset,
                           uint8_t* panel) {
  const hn::Full128<uint8_t> d8;
  const hn::Full128<uint32_t> d32;
  const auto add = hn::Set(d8, static_cast<uint8_t>(offset));
  const auto load = [&](size_t r, size_t half) {
    const auto* codes = reinterpret_cast<const uint8_t*>(rows[r].code) + 16 * half;
    return hn::BitCast(d32, hn::Add(hn::LoadU(d8, codes), add));
  };
  for (size_t half = 0; half < 2; ++half) {
    for (size_t r = 0; r < kGroupRows; r += 4) {
      const auto r0 = load(r, half), r1 = load(r + 1, half);
      const auto r2 = load(r + 2, half), r3 = load(r + 3, half);
      const auto first = hn::InterleaveLower(d32, r0, r1), third = hn::InterleaveLower(d32, r2, r3);
      const auto second = hn::InterleaveUpper(d32, r0, r1), last = hn::InterleaveUpper(d32, r2, r3);
      uint8_t* to = panel + 256 * half + 4 * r;
      hn::Store(hn::BitCast(d8, hn::ConcatLowerLower(d32, third, first)), d8, to);
      hn::Store(hn::BitCast(d8, hn::ConcatUpperUpper(d32, third, first)), d8, to + 64);
      hn::Store(hn::BitCast(d8, hn::ConcatLowerLower(d32, last, second)), d8, to + 128);
      hn::Store(hn::BitCast(d8, hn::ConcatUpperUpper(d32, last, second)), d8, to + 192);
    }
  }
}

void read_units(const MatmulJob& job, uint32_t group, size_t first_unit, size_t n_units,
                UnitPanel::Data& panel) {
  const quant::TypeInfo& info = quant::info(job.type);
  const uint64_t row_bytes = quant::row_bytes(job.type, job.cols);
  const std::byte* rows = job.packed + group * job.group_bytes;
  quant::UnitCodes units[kPanelUnits][kGroupRows];
  for (size_t r = 0; r < kGroupRows; ++r) {
    info.read_units(rows + r * row_bytes, static_cast<uint32_t>(first_unit),
                    static_cast<uint32_t>(n_units), &units[0][r], kGroupRows);
  }
  // What unsigned codes carry on top; no more than needed, or small codes drown in its rounding.
  const uint32_t offset = kSignedBytes ? 128 : info.max_code;
  const float taken_off = kSignedBytes ? 0.0f : -static_cast<float>(offset);
  for (size_t unit = 0; unit < n_units; ++unit) {
    interleave(units[unit], offset, panel.codes + unit * 512);
    for (size_t h = 0; h < 2; ++h) {
      const size_t at = (unit * 2 + h) * kGroupRows;
      for (size_t r = 0; r < kGroupRows; ++r) {
        panel.a[at + r] = units[unit][r].scale[h];
        panel.b[at + r] = taken_off * units[unit][r].scale[h];
      }
    }
  }
}

template <class Form>
HWY_NOINLINE void unit_items(const MatmulJob& job, uint32_t begin, uint32_t end) {
  alignas(64) float sums[(kTileRows + 4) * kGroupRows] = {};
  for (uint32_t item = begin; item < end; ++item) {
    const uint32_t group = item % job.n_groups;
    const uint32_t first = item / job.n_groups * job.tile_rows;
    const uint32_t n = HWY_MIN(job.tile_rows, job.args.n_rows - first);
    const auto fill = [&](size_t unit, size_t n_units, UnitPanel::Data& panel) {
      read_units(job, group, unit, n_units, panel);
    };
    if (job.x8.width == 1) {
      panel_rows<Form, UnitPanel, true>(job, first, n, sums, fill);
    } else {
      panel_rows<Form, UnitPanel, false>(job, first, n, sums, fill);
    }
    write_group(job, group, first, n, sums);
  }
}

template <class Form, quant::Type kType>
HWY_NOINLINE void items(const MatmulJob& job, uint32_t begin, uint32_t end) {
  alignas(64) float sums[(kTileRows + 4) * kGroupRows] = {};  // room for whole tiles
  for (uint32_t item = begin; item < end; ++item) {
    const uint32_t group = item % job.n_groups;
    const uint32_t first = item / job.n_groups * job.tile_rows;
    const uint32_t n = HWY_MIN(job.tile_rows, job.args.n_rows - first);
    if (n <= 8) {
      few_rows<Form, kType>(job, group, first, n, sums);
    } else {
      many_rows<Form, kType>(job, group, first, n, sums);
    }
    write_group(job, group, first, n, sums);
  }
}

template <class Form>
void items_of_any_type(const MatmulJob& job, uint32_t begin, uint32_t end) {
  using quant::Type;
  switch (job.type) {
    case Type::kQ4_0:
      return items<Form, Type::kQ4_0>(job, begin, end);
    case Type::kQ4_1:
      return items<Form, Type::kQ4_1>(job, begin, end);
    case Type::kQ5_0:
      return items<Form, Type::kQ5_0>(job, begin, end);
    case Type::kQ5_1:
      return items<Form, Type::kQ5_1>(job, begin, end);
    case Type::kQ8_0:
      return items<Form, Type::kQ8_0>(job, begin, end);
    case Type::kQ2_K:
      return items<Form, Type::kQ2_K>(job, begin, end);
    case Type::kQ3_K:
      return items<Form, Type::kQ3_K>(job, begin, end);
    case Type::kQ4_K:
      return items<Form, Type::kQ4_K>(job, begin, end);
    case Type::kQ5_K:
      return items<Form, Type::kQ5_K>(job, begin, end);
    case Type::kQ6_K:
      return items<Form, Type::kQ6_K>(job, begin, end);
    case Type::kIQ4_NL:
      return items<Form, Type::kIQ4_NL>(job, begin, end);
    case Type::kIQ4_XS:
      return items<Form, Type::kIQ4_XS>(job, begin, end);
    case Type::kMXFP4:
      return items<Form, Type::kMXFP4>(job, begin, end);
    case Type::kNVFP4:
      return items<Form, Type::kNVFP4>(job, begin, end);
    case Type::kTQ1_0:
      return items<Form, Type::kTQ1_0>(job, begin, end);
    case Type::kTQ2_0:
      return items<Form, Type::kTQ2_0>(job, begin, end);
    case Type::kQ1_0:
      return items<Form, Type::kQ1_0>(job, begin, end);
    case Type::kQ4F16_1:
      return items<Form, Type::kQ4F16_1>(job, begin, end);
    default:
      return unit_items<Form>(job, begin, end);  // float weights take the f32 kernels
  }
}

void int8_items(const MatmulJob& job, uint32_t begin, uint32_t end) {
  with_form([&](auto form) { items_of_any_type<decltype(form)>(job, begin, end); });
}

// Four columns, in the order of ActivationCode.
HWY_INLINE void store_columns(const int8_t* codes, ActivationCode* out) {
  if constexpr (sizeof(ActivationCode) == 1) {
    std::memcpy(out, codes, 4);
  } else {
    for (const int column : {0, 2, 1, 3}) *out++ = codes[column];
  }
}

// One unit of one row: codes rounded to nearest even of x * 127 / max |x|.
HWY_INLINE void quantize_unit(const float* x, QuantizedRows out, size_t tile, size_t unit,
                              size_t place) {
  const DF df;
  VF largest = hn::Zero(df);
  for (size_t i = 0; i < kUnitCols; i += kLanes)
    largest = hn::Max(largest, hn::Abs(hn::LoadU(df, x + i)));
  const float max = hn::ReduceMax(df, largest);
  const float inverse = max > 1e-30f ? 127.0f / max : 0.0f;
  const float scale = max / 127.0f;
  alignas(64) int8_t codes[kUnitCols];
  int32_t sums[2];
  for (size_t h = 0; h < 2; ++h) {
    VI sum = hn::Zero(DI());
    for (size_t i = 16 * h; i < 16 * h + 16; i += kLanes) {
      const VI code = hn::NearestInt(hn::Mul(hn::LoadU(df, x + i), hn::Set(df, inverse)));
      sum = hn::Add(sum, code);
      hn::Store(hn::DemoteTo(hn::Rebind<int8_t, DF>(), code), hn::Rebind<int8_t, DF>(), codes + i);
    }
    sums[h] = hn::ReduceSum(DI(), sum);
  }
  const size_t at = (tile * out.units + unit) * out.width + place;
  for (size_t j = 0; j < 8; ++j) {
    store_columns(codes + 4 * j,
                  out.codes + (((tile * out.units + unit) * 8 + j) * out.width + place) * 4);
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
  for (size_t tile = begin; tile < end; ++tile) {
    for (size_t place = 0; place < out.width; ++place) {
      const size_t row = tile * out.width + place;
      for (size_t unit = 0; unit < out.units; ++unit) {
        const float* x = row < job.args.n_rows
                             ? job.args.x + row * job.args.x_stride + unit * kUnitCols
                             : kNothing;
        quantize_unit(x, out, tile, unit, place);
      }
    }
  }
}

}  // namespace puna::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace puna::kernels {

HWY_EXPORT(int8_items);
HWY_EXPORT(quantize_all);

void matmul_int8_items(const MatmulJob& job, uint32_t begin, uint32_t end) {
  HWY_DYNAMIC_DISPATCH(int8_items)(job, begin, end);
}
void quantize_tiles(const MatmulJob& job, uint32_t begin, uint32_t end) {
  HWY_DYNAMIC_DISPATCH(quantize_all)(job, begin, end);
}

}  // namespace puna::kernels
#endif
