// The largest products of each row once more, from x as it is.
#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "base/check.h"
#include "kernels/elementwise/elementwise_ref.h"
#include "kernels/matmul/matmul.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/matmul/matmul_top_cpu.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace puna::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

float largest_of(const float* y, size_t n) {
  const hn::ScalableTag<float> d;
  const size_t lanes = hn::Lanes(d);
  float largest = -INFINITY;
  size_t i = 0;
  if (n >= lanes) {
    auto most = hn::Set(d, largest);
    for (; i + lanes <= n; i += lanes) most = hn::Max(most, hn::LoadU(d, y + i));
    largest = hn::ReduceMax(d, most);
  }
  for (; i < n; ++i) largest = std::max(largest, y[i]);
  return largest;
}

float dot_of(const float* a, const float* b, size_t n) {
  const hn::ScalableTag<float> d;
  const size_t lanes = hn::Lanes(d);
  auto sum = hn::Zero(d);
  size_t i = 0;
  for (; i + lanes <= n; i += lanes)
    sum = hn::MulAdd(hn::LoadU(d, a + i), hn::LoadU(d, b + i), sum);
  float out = hn::ReduceSum(d, sum);
  for (; i < n; ++i) out += a[i] * b[i];
  return out;
}

}  // namespace puna::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace puna::kernels {
namespace {

HWY_EXPORT(largest_of);
HWY_EXPORT(dot_of);

// Products that are looked through at a time.
constexpr uint32_t kChunk = 2048;

struct Top {
  uint32_t row, id;
};

}  // namespace

void matmul_top_cpu(base::ThreadPool& pool, const MatmulCpuArgs& args, float within,
                    uint32_t at_most) {
  PUNA_CHECK(args.epilogue == Epilogue::kStore || args.epilogue == Epilogue::kSoftcap);
  const uint32_t n = args.weight->rows(), cols = args.weight->cols();
  const uint32_t chunks = (n + kChunk - 1) / kChunk;
  const auto product = [&](uint32_t row, uint32_t id) -> float& {
    return args.y[uint64_t{row} * args.y_stride + args.y_column + id];
  };
  std::vector<float> peaks(size_t{args.n_rows} * chunks);  // [n_rows][chunks]
  const auto look = [&](uint32_t begin, uint32_t end) {
    for (uint32_t i = begin; i < end; ++i) {
      const uint32_t first = i % chunks * kChunk;
      peaks[i] = HWY_DYNAMIC_DISPATCH(largest_of)(&product(i / chunks, first),
                                                  std::min(kChunk, n - first));
    }
  };
  pool.run(static_cast<uint32_t>(peaks.size()), 8, std::ref(look));

  std::vector<Top> tops;
  for (uint32_t row = 0; row < args.n_rows; ++row) {
    const auto of_row = std::span(peaks).subspan(size_t{row} * chunks, chunks);
    const float least = *std::ranges::max_element(of_row) - within;
    if (!std::isfinite(least)) continue;
    const auto first_top = static_cast<ptrdiff_t>(tops.size());
    for (uint32_t chunk = 0; chunk < chunks; ++chunk) {
      if (!(of_row[chunk] >= least)) continue;
      const uint32_t end = std::min((chunk + 1) * kChunk, n);
      for (uint32_t id = chunk * kChunk; id < end; ++id) {
        if (product(row, id) >= least) tops.push_back({row, id});
      }
    }
    if (tops.size() - static_cast<size_t>(first_top) <= at_most) continue;
    std::nth_element(
        tops.begin() + first_top, tops.begin() + first_top + at_most, tops.end(),
        [&](const Top& a, const Top& b) { return product(row, a.id) > product(row, b.id); });
    tops.resize(static_cast<size_t>(first_top) + at_most);
  }
  const uint32_t x_stride = args.x_stride == 0 ? cols : args.x_stride;
  const auto again = [&](uint32_t begin, uint32_t end) {
    std::vector<float> weights(cols);
    for (uint32_t i = begin; i < end; ++i) {
      const auto [row, id] = tops[i];
      args.weight->decode_row(id, weights.data());
      float sum =
          HWY_DYNAMIC_DISPATCH(dot_of)(weights.data(), args.x + size_t{row} * x_stride, cols);
      if (args.bias) sum += args.bias[id];
      sum *= args.scale;
      if (args.epilogue == Epilogue::kSoftcap)
        sum = static_cast<float>(softcap_ref(double{sum}, double{args.softcap}));
      product(row, id) = sum;
    }
  };
  pool.run(static_cast<uint32_t>(tops.size()), 8, std::ref(again));
}

}  // namespace puna::kernels
#endif
