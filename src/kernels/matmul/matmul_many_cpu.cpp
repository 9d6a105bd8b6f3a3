// Products of many rows of x8, which share panels of unpacked weights.
#include "kernels/matmul/panel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/matmul/matmul_many_cpu.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/matmul/epilogue-inl.h"
#include "kernels/matmul/int8_tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace puna::kernels::HWY_NAMESPACE {

template <class Form, class Source>
HWY_NOINLINE void multiply_panel(const MatmulJob& job, const Panel& panel, uint32_t unit,
                                 uint32_t n_units, uint32_t first, uint32_t n, float* sums) {
  Source source;
  source.panel = &panel;
  if (job.x8.width == 1) return tile<Form, 1, 1>(job, source, unit, n_units, 0, sums);
  if (job.x8.width == 2) return tile<Form, 2, 2>(job, source, unit, n_units, 0, sums);
  constexpr int kPanelRows = Form::kPanelRows;
  uint32_t t = 0;
  for (; t + kPanelRows <= n; t += kPanelRows)
    tile<Form, kPanelRows, 4>(job, source, unit, n_units, first + t, sums + t * kGroupRows);
  for (; t < n; t += 4)
    tile<Form, 4, 4>(job, source, unit, n_units, first + t, sums + t * kGroupRows);
}

template <class Form>
MultiplyPanel multiply_of(const PanelFormat& format) {
  const bool two = format.halves == 2;
  switch (format.max_code) {
    case 15:
      return two ? multiply_panel<Form, PanelSource<15, 2>>
                 : multiply_panel<Form, PanelSource<15, 1>>;
    case 31:
      return two ? multiply_panel<Form, PanelSource<31, 2>>
                 : multiply_panel<Form, PanelSource<31, 1>>;
    case 63:
      return multiply_panel<Form, PanelSource<63, 2>>;
    default:
      return two ? multiply_panel<Form, PanelSource<255, 2>>
                 : multiply_panel<Form, PanelSource<255, 1>>;
  }
}

void many(const MatmulJob& job, uint32_t begin, uint32_t end, MultiplyPanel multiply) {
  if (!multiply)
    with_form([&](auto form) { multiply = multiply_of<decltype(form)>(panel_format(job.type)); });
  Panel panel;
  alignas(64) float sums[(kTileRows + 4) * kGroupRows] = {};  // room for whole tiles
  for (uint32_t item = begin; item < end; ++item) {
    const auto [group, first, n] = item_of(job, item);
    const uint32_t planes = job.x8.planes;
    for (uint32_t unit = 0; unit < job.x8.units; unit += kPanelUnits) {
      const uint32_t n_units = HWY_MIN(kPanelUnits, job.x8.units - unit);
      fill_panel(job, group, unit, n_units, panel);
      multiply(job, panel, unit, n_units, first * planes, n * planes, sums);
    }
    if (planes == 2) add_planes(n, sums);
    write_group(job, group, first, n, sums);
  }
}

}  // namespace puna::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace puna::kernels {
HWY_EXPORT(many);

void matmul_many_items(const MatmulJob& job, uint32_t begin, uint32_t end, MultiplyPanel multiply) {
  HWY_DYNAMIC_DISPATCH(many)(job, begin, end, multiply);
}

}  // namespace puna::kernels
#endif
