// The self-test of norms of parts of rows.
#include <fmt/format.h>

#include "kernels/norm/norm_parts.h"
#include "kernels/norm/norm_parts_ref.h"
#include "kernels/selftest/check.h"
#include "kernels/selftest/check_gpu.h"
#include "kernels/selftest/measure.h"

namespace puna::kernels {

using base::Result;

namespace {

Result<void> norm_parts_on_gpu(gpu::Device& device, const NormPartsCpuArgs& args) {
  Workbench bench(device);
  const NormPartsShape& s = args.shape;
  const uint32_t n_weights = s.n * (s.weights_by_part ? s.n_parts : 1);
  const uint64_t n_x = uint64_t{args.n_rows} * s.x_stride;
  const uint64_t n_y = uint64_t{args.n_rows} * s.n * s.n_parts;
  NormPartsArgs a;
  a.label = "norm_parts";
  a.shape = s;
  PUNA_TRY(a.step, bench.step(args.n_rows));
  PUNA_TRY(a.x, bench.upload(static_cast<const float*>(args.x), n_x));
  if (args.y) {
    PUNA_TRY(a.y, bench.output(n_y));
  }
  if (args.gamma) {
    PUNA_TRY(a.gamma, bench.upload(args.gamma, n_weights));
  }
  if (args.beta) {
    PUNA_TRY(a.beta, bench.upload(args.beta, n_weights));
  }
  PUNA_TRY(run_rows(bench, kernels::norm_parts, a, args.n_rows));
  if (args.y) return bench.read(*a.y, args.y, n_y);
  return bench.read(a.x, args.x, n_x);
}

Result<void> norm_parts_on(Check& check, const NormPartsCpuArgs& args) {
  if (check.gpu()) return norm_parts_on_gpu(*check.gpu(), args);
  norm_parts_cpu(check.pool(), args);
  return {};
}

Result<void> norm_parts(Check& check, const NormPartsShape& shape, bool in_place) {
  if (!check.wanted("norm_parts", "f32")) return {};
  const uint32_t n_rows = 3;
  auto x = normal(size_t{n_rows} * shape.x_stride, 5, /*mean=*/2), expected_x = x;
  const size_t n_weights = size_t{shape.n} * (shape.weights_by_part ? shape.n_parts : 1);
  const auto gamma = normal(n_weights, 6, 1, 0.3f), beta = normal(n_weights, 7);
  std::vector<float> y(size_t{n_rows} * shape.n * shape.n_parts), expected(y.size());
  NormPartsCpuArgs args{x.data(), in_place ? nullptr : y.data(), gamma.data(), beta.data(), shape,
                        n_rows};
  PUNA_TRY(norm_parts_on(check, args));
  args.x = expected_x.data();
  if (args.y) args.y = expected.data();
  norm_parts_ref(args);
  static constexpr const char* kKinds[] = {"rms", "layer", "l2"};
  return check.record(
      "norm_parts", "f32",
      fmt::format("{} rows, {} of {}, {}{}", n_rows, shape.n_parts, shape.n,
                  kKinds[static_cast<size_t>(shape.kind)], in_place ? ", in place" : ""),
      in_place ? nmse(x, expected_x) : nmse(y, expected), kF32Limit);
}

}  // namespace

Result<void> check_norm_parts(Check& check) {
  for (const uint32_t n : {33u, 576u, 4096u}) {
    for (const NormKind kind : {NormKind::kRms, NormKind::kLayer, NormKind::kL2}) {
      PUNA_TRY(norm_parts(check, {kind, n, 1, n, 0, false, 1e-5f}, /*in_place=*/false));
      PUNA_TRY(norm_parts(check, {kind, n, 2, 3 * n, n, true, 1e-5f}, /*in_place=*/true));
    }
  }
  return {};
}

}  // namespace puna::kernels
