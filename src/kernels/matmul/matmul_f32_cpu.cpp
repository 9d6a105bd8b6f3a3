// Exact products: f32 activations against weights decoded to f32, a panel of 16 rows by kPanelCols
// columns at a time, summed in f32.
#include <cstring>

#include "kernels/matmul/job.h"
#include "quant/unit.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/matmul/matmul_f32_cpu.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/matmul/codes-inl.h"
#include "kernels/matmul/epilogue-inl.h"

HWY_BEFORE_NAMESPACE();
namespace puna::kernels::HWY_NAMESPACE {

constexpr uint32_t kPanelCols = 256;

// A unit's weights as f32: out [32][16], the columns of slice v.
template <quant::Type kType>
HWY_INLINE void decode_unit_f32(const uint8_t* block, size_t u, size_t v, float* out) {
  constexpr size_t kHalves = Codec<kType>::kHalves;
  VB codes[8];
  VF a[kHalves];
  VF b[kHalves];
  Codec<kType>::codes(block, u, v, codes);
  Codec<kType>::scales(block, u, v, 128.0f, a, b);
  const hn::Vec<DU> byte = hn::Set(DU(), 0xff);
  for (size_t j = 0; j < 8; ++j) {
    const size_t h = j * kHalves / 8;
    hn::Vec<DU> word = hn::BitCast(DU(), codes[j]);
    for (size_t i = 0; i < 4; ++i) {
      const VF code = hn::ConvertTo(DF(), hn::BitCast(DI(), hn::And(word, byte)));
      hn::Store(hn::MulAdd(a[h], code, b[h]), DF(), out + (4 * j + i) * kGroupRows + v * kLanes);
      word = hn::ShiftRight<8>(word);
    }
  }
}

template <quant::Type kType>
HWY_NOINLINE void decode_panel(const uint8_t* group, uint32_t first_col, uint32_t n_cols,
                               float* panel) {
  constexpr PackedFormat kFormat = packed_format(kType);
  for (uint32_t c = 0; c < n_cols; c += kUnitCols) {
    const uint32_t unit = (first_col + c) / kUnitCols;
    const uint8_t* block = group + size_t{unit / kFormat.units} * kFormat.block_bytes();
    for (size_t v = 0; v < kSlices; ++v)
      decode_unit_f32<kType>(block, unit % kFormat.units, v, panel + c * kGroupRows);
  }
}

HWY_INLINE VF load_16(const hwy::float16_t* p) { return load_halves(DF(), p); }
HWY_INLINE VF load_16(const hwy::bfloat16_t* p) {
  return hn::PromoteTo(DF(), hn::LoadU(hn::Rebind<hwy::bfloat16_t, DF>(), p));
}

template <class T16>
HWY_INLINE void widen_panel(const uint8_t* group, uint32_t first_col, uint32_t n_cols,
                            float* panel) {
  const T16* values = reinterpret_cast<const T16*>(group) + size_t{first_col} * kGroupRows;
  for (size_t i = 0; i < size_t{n_cols} * kGroupRows; i += kLanes)
    hn::Store(load_16(values + i), DF(), panel + i);
}

// The same of a type that is read unit by unit.
void read_panel(const MatmulJob& job, const uint8_t* group, uint32_t first_col, uint32_t n_cols,
                float* panel) {
  const quant::TypeInfo& info = quant::info(job.type);
  const uint64_t row_bytes = quant::row_bytes(job.type, job.cols);
  quant::UnitCodes units[kPanelCols / kUnitCols];
  for (uint32_t r = 0; r < kGroupRows; ++r) {
    const auto* row = reinterpret_cast<const std::byte*>(group) + r * row_bytes;
    info.read_units(row, first_col / kUnitCols, n_cols / kUnitCols, units, 1);
    for (uint32_t c = 0; c < n_cols; c += kUnitCols) {
      const quant::UnitCodes& unit = units[c / kUnitCols];
      for (uint32_t i = 0; i < kUnitCols; ++i)
        panel[(c + i) * kGroupRows + r] = unit.scale[i / 16] * static_cast<float>(unit.code[i]);
    }
  }
}

// The panel of columns [first_col, first_col + n_cols): decoded into `buffer`, or the weights
// themselves when they are f32.
HWY_INLINE const float* load_panel(const MatmulJob& job, uint32_t group, uint32_t first_col,
                                   uint32_t n_cols, float* buffer) {
  using quant::Type;
  const uint8_t* packed = reinterpret_cast<const uint8_t*>(job.packed) + group * job.group_bytes;
  switch (job.type) {
    case Type::kF32:
      return reinterpret_cast<const float*>(packed) + size_t{first_col} * kGroupRows;
    case Type::kF16:
      widen_panel<hwy::float16_t>(packed, first_col, n_cols, buffer);
      break;
    case Type::kBf16:
      widen_panel<hwy::bfloat16_t>(packed, first_col, n_cols, buffer);
      break;
    default:
      if (!with_packed_type(job.type, [&](auto type) {
            decode_panel<decltype(type)::value>(packed, first_col, n_cols, buffer);
          })) {
        read_panel(job, packed, first_col, n_cols, buffer);
      }
  }
  return buffer;
}

// Sums that the columns of a product are dealt out to, so that one addition need not wait for the
// last: as many for every number of rows, since a row's result must not depend on the rows beside
// it. One row has four sums under way, in one slice or over several.
constexpr int kChains = kSlices < 4 ? static_cast<int>(4 / kSlices) : 1;
// Rows that read a weight together: 24 sums of 32 registers, or 12 of 16.
constexpr int kRowsAtOnce = 6;

// Adds n_cols columns of slices [v, v + kWide) for kRows activation rows to sums [kRows][16].
template <int kRows, int kWide>
HWY_INLINE void tile(const float* x, size_t x_stride, const float* panel, uint32_t n_cols, size_t v,
                     float* sums) {
  const float* w = panel + v * kLanes;
  const auto value = [&](int t, uint32_t k) {
    return hn::Set(DF(), x[static_cast<size_t>(t) * x_stride + k]);
  };
  const auto weight = [&](uint32_t k, int s) {
    return hn::Load(DF(), w + size_t{k} * kGroupRows + static_cast<size_t>(s) * kLanes);
  };
  VF f[kChains][kWide][kRows];
  for (int t = 0; t < kRows; ++t) {
    for (int s = 0; s < kWide; ++s) {
      f[0][s][t] = hn::Load(
          DF(), sums + static_cast<size_t>(t) * kGroupRows + (v + static_cast<size_t>(s)) * kLanes);
      for (int c = 1; c < kChains; ++c) f[c][s][t] = hn::Zero(DF());
    }
  }
  uint32_t k = 0;
  for (; k + kChains <= n_cols; k += kChains) {
    for (int c = 0; c < kChains; ++c) {
      const uint32_t at = k + static_cast<uint32_t>(c);
      for (int s = 0; s < kWide; ++s) {
        const VF factor = weight(at, s);
        for (int t = 0; t < kRows; ++t) f[c][s][t] = hn::MulAdd(factor, value(t, at), f[c][s][t]);
      }
    }
  }
  for (; k < n_cols; ++k) {
    for (int s = 0; s < kWide; ++s) {
      const VF factor = weight(k, s);
      for (int t = 0; t < kRows; ++t) f[0][s][t] = hn::MulAdd(factor, value(t, k), f[0][s][t]);
    }
  }
  for (int t = 0; t < kRows; ++t) {
    for (int s = 0; s < kWide; ++s) {
      for (int c = 1; c < kChains; ++c) f[0][s][t] = hn::Add(f[0][s][t], f[c][s][t]);
      hn::Store(f[0][s][t], DF(),
                sums + static_cast<size_t>(t) * kGroupRows + (v + static_cast<size_t>(s)) * kLanes);
    }
  }
}

// The same of all slices: side by side where the rows leave registers for it.
template <int kRows>
HWY_INLINE void tile_of(const float* x, size_t x_stride, const float* panel, uint32_t n_cols,
                        float* sums) {
  constexpr int kWide = kRows == 1 ? static_cast<int>(kSlices) : 1;
  for (size_t v = 0; v < kSlices; v += kWide)
    tile<kRows, kWide>(x, x_stride, panel, n_cols, v, sums);
}

void f32_items(const MatmulJob& job, uint32_t begin, uint32_t end) {
  alignas(64) float sums[(kTileRows + 1) * kGroupRows];
  alignas(64) float buffer[kPanelCols * kGroupRows];
  for (uint32_t item = begin; item < end; ++item) {
    const auto [group, first, n] = item_of(job, item);
    std::memset(sums, 0, size_t{n + 1} * kGroupRows * sizeof(float));
    for (uint32_t col = 0; col < job.cols; col += kPanelCols) {
      const uint32_t n_cols = HWY_MIN(kPanelCols, job.cols - col);
      const float* panel = load_panel(job, group, col, n_cols, buffer);
      const size_t stride = job.args.x_stride;
      const float* x = job.args.x + first * stride + col;
      uint32_t t = 0;
      for (; t + kRowsAtOnce <= n; t += kRowsAtOnce)
        tile_of<kRowsAtOnce>(x + t * stride, stride, panel, n_cols, sums + t * kGroupRows);
      for (; t + 3 <= n; t += 3)
        tile_of<3>(x + t * stride, stride, panel, n_cols, sums + t * kGroupRows);
      for (; t < n; ++t) tile_of<1>(x + t * stride, stride, panel, n_cols, sums + t * kGroupRows);
    }
    write_group(job, group, first, n, sums);
  }
}

void write_sums(const MatmulJob& job, uint32_t group, uint32_t first_row, uint32_t n_rows,
                float* sums) {
  write_group(job, group, first_row, n_rows, sums);
}

}  // namespace puna::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace puna::kernels {
HWY_EXPORT(f32_items);
HWY_EXPORT(write_sums);

void matmul_f32_items(const MatmulJob& job, uint32_t begin, uint32_t end) {
  HWY_DYNAMIC_DISPATCH(f32_items)(job, begin, end);
}
void finish_group(const MatmulJob& job, uint32_t group, uint32_t first_row, uint32_t n_rows,
                  float* sums) {
  HWY_DYNAMIC_DISPATCH(write_sums)(job, group, first_row, n_rows, sums);
}

}  // namespace puna::kernels
#endif
