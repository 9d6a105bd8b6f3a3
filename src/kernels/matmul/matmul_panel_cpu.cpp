// Unpacks units of a weight group into a panel, once for many activation rows.
#include "kernels/matmul/panel.h"
#include "quant/unit.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/matmul/matmul_panel_cpu.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/matmul/int8_tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace puna::kernels::HWY_NAMESPACE {

template <quant::Type kType>
HWY_NOINLINE void unpack(const std::byte* group, size_t first_unit, size_t n_units, Panel& panel) {
  PackedSource<kType> source(reinterpret_cast<const uint8_t*>(group));
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

void read_units(const MatmulJob& job, const std::byte* rows, size_t first_unit, size_t n_units,
                Panel& panel) {
  const quant::TypeInfo& info = quant::info(job.type);
  const uint64_t row_bytes = quant::row_bytes(job.type, job.cols);
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

void fill(const MatmulJob& job, uint32_t group, uint32_t first_unit, uint32_t n_units,
          Panel& panel) {
  const std::byte* packed = job.packed + group * job.group_bytes;
  const bool is_packed = with_packed_type(job.type, [&](auto type) {
    unpack<decltype(type)::value>(packed, first_unit, n_units, panel);
  });
  if (!is_packed) read_units(job, packed, first_unit, n_units, panel);
}

}  // namespace puna::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace puna::kernels {
HWY_EXPORT(fill);

void fill_panel(const MatmulJob& job, uint32_t group, uint32_t first_unit, uint32_t n_units,
                Panel& panel) {
  HWY_DYNAMIC_DISPATCH(fill)(job, group, first_unit, n_units, panel);
}

}  // namespace puna::kernels
#endif
