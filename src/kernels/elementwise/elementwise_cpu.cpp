// The plain passes on the CPU. Ranges are cut at multiples of kGrain elements, so that only the
// last has a tail.
#include <algorithm>
#include <functional>

#include "kernels/elementwise/elementwise.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/elementwise/elementwise_cpu.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/common/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace puna::kernels::HWY_NAMESPACE {

using Tag = hn::ScalableTag<float>;

// x of n gates, or of one for all.
void gate_range(const float* x, float* y, size_t n, bool one) {
  const Tag d;
  const size_t lanes = hn::Lanes(d);
  for (size_t i = 0; i < n; i += lanes) {
    const size_t left = HWY_MIN(lanes, n - i);
    const auto by = one ? hn::Set(d, x[0]) : hn::LoadN(d, x + i, left);
    hn::StoreN(gate_by_logistic(d, hn::LoadN(d, y + i, left), by), d, y + i, left);
  }
}

void scale_range(float* y, size_t n, float scale) {
  const Tag d;
  const size_t lanes = hn::Lanes(d);
  for (size_t i = 0; i < n; i += lanes) {
    const size_t left = HWY_MIN(lanes, n - i);
    hn::StoreN(hn::Mul(hn::LoadN(d, y + i, left), hn::Set(d, scale)), d, y + i, left);
  }
}

void softcap_range(float* y, size_t n, float cap) {
  const Tag d;
  const size_t lanes = hn::Lanes(d);
  for (size_t i = 0; i < n; i += lanes) {
    const size_t left = HWY_MIN(lanes, n - i);
    hn::StoreN(softcap(d, hn::LoadN(d, y + i, left), cap), d, y + i, left);
  }
}

void glu_range(const float* gate, const float* up, float* y, size_t n, Activation activation) {
  with_activation(activation, [&](auto activate) HWY_ATTR {
    const Tag d;
    const size_t lanes = hn::Lanes(d);
    for (size_t i = 0; i < n; i += lanes) {
      const size_t left = HWY_MIN(lanes, n - i);
      const auto active = activate(d, hn::LoadN(d, gate + i, left));
      hn::StoreN(hn::Mul(active, hn::LoadN(d, up + i, left)), d, y + i, left);
    }
  });
}

}  // namespace puna::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace puna::kernels {
namespace {

constexpr uint64_t kGrain = 4096;

// body(begin, end) over elements.
template <class Body>
void run_ranges(base::ThreadPool& pool, uint64_t n_elements, const Body& body) {
  const auto blocks = [&](uint32_t begin, uint32_t end) {
    body(begin * kGrain, std::min(end * kGrain, n_elements));
  };
  pool.run(static_cast<uint32_t>((n_elements + kGrain - 1) / kGrain), 2, std::ref(blocks));
}

}  // namespace

HWY_EXPORT(gate_range);
HWY_EXPORT(scale_range);
HWY_EXPORT(softcap_range);
HWY_EXPORT(glu_range);

void gate_cpu(base::ThreadPool& pool, const float* x, float* y, uint32_t n_rows, uint32_t n,
              uint32_t n_gates) {
  const auto rows = [&](uint32_t begin, uint32_t end) {
    for (size_t t = begin; t < end; ++t)
      HWY_DYNAMIC_DISPATCH(gate_range)(x + t * n_gates, y + t * n, n, n_gates == 1);
  };
  pool.run(n_rows, std::max(4096 / std::max(n, 1u), 1u), std::ref(rows));
}

void scale_cpu(base::ThreadPool& pool, float* y, uint64_t n_elements, float scale) {
  run_ranges(pool, n_elements, [&](uint64_t begin, uint64_t end) {
    HWY_DYNAMIC_DISPATCH(scale_range)(y + begin, end - begin, scale);
  });
}

void softcap_cpu(base::ThreadPool& pool, float* y, uint64_t n_elements, float cap) {
  run_ranges(pool, n_elements, [&](uint64_t begin, uint64_t end) {
    HWY_DYNAMIC_DISPATCH(softcap_range)(y + begin, end - begin, cap);
  });
}

void glu_cpu(base::ThreadPool& pool, const float* gate_up, float* y, uint32_t n_rows, uint32_t n,
             Activation activation) {
  const auto rows = [&](uint32_t begin, uint32_t end) {
    for (uint64_t t = begin; t < end; ++t) {
      const float* gate = gate_up + t * 2 * n;
      HWY_DYNAMIC_DISPATCH(glu_range)(gate, gate + n, y + t * n, n, activation);
    }
  };
  pool.run(n_rows, std::max(4096 / std::max(n, 1u), 1u), std::ref(rows));
}

}  // namespace puna::kernels
#endif
