// Products of one to eight rows of x8, which decode the weights in registers on the way.
#if defined(PUNA_KERNELS_MATMUL_MATMUL_FEW_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef PUNA_KERNELS_MATMUL_MATMUL_FEW_INL_H
#undef PUNA_KERNELS_MATMUL_MATMUL_FEW_INL_H
#else
#define PUNA_KERNELS_MATMUL_MATMUL_FEW_INL_H
#endif

#include "hwy/highway.h"
#include "kernels/matmul/epilogue-inl.h"
#include "kernels/matmul/int8_tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace puna::kernels::HWY_NAMESPACE {

template <class Form, quant::Type kType>
HWY_NOINLINE void few_items(const MatmulJob& job, uint32_t begin, uint32_t end) {
  alignas(64) float sums[kFewRows * kGroupRows] = {};
  for (uint32_t item = begin; item < end; ++item) {
    const auto [group, first, n] = item_of(job, item);
    PackedSource<kType> source(reinterpret_cast<const uint8_t*>(job.packed) +
                               group * job.group_bytes);
    const uint32_t planes = job.x8.planes;
    if (job.x8.width == 1) {
      tile<Form, 1, 1>(job, source, 0, job.x8.units, 0, sums);
    } else if (job.x8.width == 2) {
      tile<Form, 2, 2>(job, source, 0, job.x8.units, 0, sums);
    } else {
      for (uint32_t t = 0; t < n * planes; t += 4)
        tile<Form, 4, 4>(job, source, 0, job.x8.units, first * planes + t, sums + t * kGroupRows);
    }
    if (planes == 2) add_planes(n, sums);
    write_group(job, group, first, n, sums);
  }
}

// job.type is one of List.
template <class List>
HWY_INLINE void few_items_of(const MatmulJob& job, uint32_t begin, uint32_t end) {
  with_form([&](auto form) {
    with_type(List(), job.type, [&](auto type) {
      few_items<decltype(form), decltype(type)::value>(job, begin, end);
    });
  });
}

}  // namespace puna::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
