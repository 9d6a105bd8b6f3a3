// Two operands on the CPU: a range of rows at a time, or of elements where rows need not be told
// apart.
#include <algorithm>
#include <functional>

#include "kernels/elementwise/binary.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/elementwise/binary_cpu.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace puna::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <class Operation>
HWY_INLINE void apply_to(const float* x, float* y, size_t n, bool one, const Operation& operation) {
  const hn::ScalableTag<float> d;
  const size_t lanes = hn::Lanes(d);
  for (size_t i = 0; i < n; i += lanes) {
    const auto by = one ? hn::Set(d, x[0]) : hn::LoadN(d, x + i, n - i);
    hn::StoreN(operation(hn::LoadN(d, y + i, n - i), by), d, y + i, n - i);
  }
}

// x of n elements, or of one for all.
void binary_range(Binary op, const float* x, float* y, size_t n, bool one) {
  switch (op) {
    case Binary::kAdd:
      return apply_to(x, y, n, one, [](auto a, auto b) HWY_ATTR { return hn::Add(a, b); });
    case Binary::kSubtract:
      return apply_to(x, y, n, one, [](auto a, auto b) HWY_ATTR { return hn::Sub(a, b); });
    case Binary::kMultiply:
      return apply_to(x, y, n, one, [](auto a, auto b) HWY_ATTR { return hn::Mul(a, b); });
    case Binary::kDivide:
      return apply_to(x, y, n, one, [](auto a, auto b) HWY_ATTR { return hn::Div(a, b); });
    case Binary::kLeast:
      return apply_to(x, y, n, one, [](auto a, auto b) HWY_ATTR { return hn::Min(a, b); });
    case Binary::kMost:
      return apply_to(x, y, n, one, [](auto a, auto b) HWY_ATTR { return hn::Max(a, b); });
  }
}

}  // namespace puna::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace puna::kernels {

HWY_EXPORT(binary_range);

void binary_cpu(base::ThreadPool& pool, const BinaryCpuArgs& args) {
  const BinaryShape& s = args.shape;
  const bool by_elements = s.spread == Spread::kElements;
  const bool one = s.spread == Spread::kColumn || s.spread == Spread::kOne;
  // A row's own x starts at row * stride.
  const size_t stride = by_elements ? size_t{s.n_parts} * s.n : s.spread == Spread::kColumn ? 1 : 0;
  const float* x = args.x + (by_elements ? size_t{s.part} * s.n : 0);
  const auto rows = [&](uint32_t begin, uint32_t end) {
    if (by_elements && s.n_parts == 1) {
      const size_t first = size_t{begin} * s.n;
      HWY_DYNAMIC_DISPATCH(binary_range)(s.op, x + first, args.y + first, size_t{end - begin} * s.n,
                                         false);
      return;
    }
    for (size_t t = begin; t < end; ++t)
      HWY_DYNAMIC_DISPATCH(binary_range)(s.op, x + t * stride, args.y + t * s.n, s.n, one);
  };
  pool.run(args.n_rows, std::max(4096 / std::max(s.n, 1u), 1u), std::ref(rows));
}

}  // namespace puna::kernels
#endif
