// The self-test of softmax.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "kernels/selftest/check.h"
#include "kernels/selftest/check_gpu.h"
#include "kernels/selftest/measure.h"
#include "kernels/softmax/softmax.h"
#include "kernels/softmax/softmax_ref.h"

namespace puna::kernels {

using base::Result;

namespace {

constexpr uint32_t kRows = 3;

Result<void> softmax_on_gpu(gpu::Device& device, const SoftmaxCpuArgs& args) {
  Workbench bench(device);
  const SoftmaxShape& s = args.shape;
  const uint64_t n = uint64_t{args.n_rows} * s.n_heads * s.n;
  SoftmaxArgs a{"softmax", {}, {}, {}, {}, s};
  PUNA_TRY(a.y, bench.upload(args.y, n));
  if (args.bias) {
    PUNA_TRY(a.bias, bench.upload(args.bias, s.bias_by_head ? n : n / s.n_heads));
  }
  if (args.slopes) {
    PUNA_TRY(a.slopes, bench.upload(args.slopes, s.n_heads));
  }
  if (args.sinks) {
    PUNA_TRY(a.sinks, bench.upload(args.sinks, s.n_heads));
  }
  return run_and_read(bench, args.n_rows, kernels::softmax, a, args.y, n);
}

Result<void> softmax_on(Check& check, const SoftmaxCpuArgs& args) {
  if (check.gpu()) return softmax_on_gpu(*check.gpu(), args);
  softmax_cpu(check.pool(), args);
  return {};
}

}  // namespace

Result<void> check_softmax(Check& check) {
  for (const int options : {0, 1, 2, 3, 5, 7, 9, 11, 15}) {
    for (const uint32_t n : {1u, 33u, 1500u}) {
      const bool bias = (options & 1) != 0, sinks = (options & 2) != 0;
      const bool slopes = (options & 4) != 0, by_head = (options & 8) != 0;
      const std::string type =
          fmt::format("{}{}{}{}", bias ? "bias" : "plain", by_head ? " by head" : "",
                      slopes ? " slopes" : "", sinks ? " sinks" : "");
      if (!check.wanted("softmax", type)) continue;
      const SoftmaxShape shape{n, 4, by_head, 0.125f};
      const size_t n_all = size_t{kRows} * 4 * n;
      auto y = normal(n_all, 46, 0, 40), expected = y;
      auto biases = normal(n_all, 47, 0, 3);
      for (size_t i = 0; i < n_all; i += 3) biases[i] = -std::numeric_limits<float>::infinity();
      // A row of which nothing is left.
      std::fill_n(biases.begin(), n, -std::numeric_limits<float>::infinity());
      const std::vector<float> four = {0.5f, 0.25f, 1, 2};
      const auto args = [&](float* to) {
        return SoftmaxCpuArgs{to,
                              bias ? biases.data() : nullptr,
                              slopes ? four.data() : nullptr,
                              sinks ? four.data() : nullptr,
                              kRows,
                              shape};
      };
      PUNA_TRY(softmax_on(check, args(y.data())));
      softmax_ref(args(expected.data()));
      PUNA_TRY(check.record("softmax", type, fmt::format("{} rows of 4x{}", kRows, n),
                            nmse(y, expected), kF32Limit));
    }
  }
  return {};
}

}  // namespace puna::kernels
