// The self-test of functions of one number.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "kernels/elementwise/unary.h"
#include "kernels/elementwise/unary_ref.h"
#include "kernels/selftest/check.h"
#include "kernels/selftest/check_gpu.h"
#include "kernels/selftest/measure.h"

namespace puna::kernels {

using base::Result;

namespace {

constexpr uint32_t kRows = 3;

// Numbers that the function is defined for, with its edges among them.
std::vector<float> arguments(Unary function, size_t n) {
  auto values = normal(n, 40, 0, 4);
  constexpr float kEdges[] = {0.0f, -0.5f, 0.5f, 1.5f, 2.5f, -2.5f, 1e-4f, -1e-4f, 3.0f, -3.0f};
  for (size_t i = 0; i < std::min(std::size(kEdges), n); ++i) values[i] = kEdges[i];
  if (function == Unary::kSqrt || function == Unary::kLog) {
    for (float& v : values) v = std::fabs(v) + 1e-3f;
  }
  return values;
}

Result<void> unary_on_gpu(gpu::Device& device, const UnaryCpuArgs& args) {
  Workbench bench(device);
  const uint64_t n = uint64_t{args.n_rows} * args.shape.n;
  UnaryArgs a{"unary", {}, args.shape};
  PUNA_TRY(a.y, bench.upload(args.y, n));
  return run_and_read(bench, args.n_rows, kernels::unary, a, args.y, n);
}

Result<void> unary_on(Check& check, const UnaryCpuArgs& args) {
  if (check.gpu()) return unary_on_gpu(*check.gpu(), args);
  unary_cpu(check.pool(), args);
  return {};
}

Result<void> unary(Check& check, Unary function, uint32_t n) {
  if (!check.wanted("unary", name(function))) return {};
  auto y = arguments(function, size_t{kRows} * n), expected = y;
  UnaryShape shape{function, n};
  if (function == Unary::kXielu) shape.with = {0.8f, 0.9f, 0.5f, -1e-6f};
  if (function == Unary::kClamp) shape.with = {-1.5f, 2.0f};
  if (function == Unary::kFill) shape.with = {7.5f};
  PUNA_TRY(unary_on(check, {y.data(), kRows, shape}));
  unary_ref({expected.data(), kRows, shape});
  return check.record("unary", name(function), fmt::format("{} rows of {}", kRows, n),
                      nmse(y, expected), kF32Limit);
}

}  // namespace

Result<void> check_unary(Check& check) {
  for (int f = 0; f <= static_cast<int>(kLastUnary); ++f) {
    for (const uint32_t n : {1u, 33u, 576u}) PUNA_TRY(unary(check, static_cast<Unary>(f), n));
  }
  return {};
}

}  // namespace puna::kernels
