// The self-test of Hadamard transforms.
#include <fmt/format.h>

#include "kernels/hadamard/hadamard.h"
#include "kernels/hadamard/hadamard_ref.h"
#include "kernels/selftest/check.h"
#include "kernels/selftest/check_gpu.h"
#include "kernels/selftest/measure.h"

namespace puna::kernels {

using base::Result;

namespace {

Result<void> hadamard_on_gpu(gpu::Device& device, const HadamardCpuArgs& args) {
  Workbench bench(device);
  const uint64_t n = uint64_t{args.n_rows} * args.shape.n_parts * args.shape.n;
  HadamardArgs a{"hadamard", {}, args.shape};
  PUNA_TRY(a.y, bench.upload(args.y, n));
  return run_and_read(bench, args.n_rows, kernels::hadamard, a, args.y, n);
}

Result<void> hadamard_on(Check& check, const HadamardCpuArgs& args) {
  if (check.gpu()) return hadamard_on_gpu(*check.gpu(), args);
  hadamard_cpu(check.pool(), args);
  return {};
}

}  // namespace

Result<void> check_hadamard(Check& check) {
  for (const uint32_t n : {1u, 2u, 64u, 128u, 4096u}) {
    if (!check.wanted("hadamard", "f32")) continue;
    auto y = normal(size_t{2} * 2 * n, 55), expected = y;
    PUNA_TRY(hadamard_on(check, {y.data(), 2, {n, 2}}));
    hadamard_ref({expected.data(), 2, {n, 2}});
    PUNA_TRY(check.record("hadamard", "f32", fmt::format("2 rows of 2x{}", n), nmse(y, expected),
                          kF32Limit));
  }
  return {};
}

}  // namespace puna::kernels
