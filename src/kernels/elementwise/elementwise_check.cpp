// The self-test of gated activations, soft caps and gates.
#include <fmt/format.h>

#include "kernels/elementwise/elementwise.h"
#include "kernels/elementwise/elementwise_ref.h"
#include "kernels/selftest/check.h"
#include "kernels/selftest/check_gpu.h"
#include "kernels/selftest/measure.h"

namespace puna::kernels {

using base::Result;

namespace {

Result<void> glu_on_gpu(gpu::Device& device, const float* gate_up, float* y, uint32_t n_rows,
                        uint32_t n, Activation activation) {
  Workbench bench(device);
  GluArgs g;
  g.label = "glu";
  PUNA_TRY(g.step, bench.step(n_rows));
  PUNA_TRY(g.gate_up, bench.upload(gate_up, uint64_t{n_rows} * n * 2));
  PUNA_TRY(g.y, bench.output(uint64_t{n_rows} * n));
  g.n = n;
  g.activation = activation;
  PUNA_TRY(run_rows(bench, kernels::glu, g, n_rows));
  return bench.read(g.y, y, uint64_t{n_rows} * n);
}

Result<void> glu_on(Check& check, const float* gate_up, float* y, uint32_t n_rows, uint32_t n,
                    Activation activation) {
  if (check.gpu()) return glu_on_gpu(*check.gpu(), gate_up, y, n_rows, n, activation);
  glu_cpu(check.pool(), gate_up, y, n_rows, n, activation);
  return {};
}

Result<void> softcap_on_gpu(gpu::Device& device, float* y, uint32_t n_rows, uint32_t n, float cap) {
  Workbench bench(device);
  SoftcapArgs s;
  s.label = "softcap";
  PUNA_TRY(s.step, bench.step(n_rows));
  PUNA_TRY(s.y, bench.upload(static_cast<const float*>(y), uint64_t{n_rows} * n));
  s.n = n;
  s.cap = cap;
  PUNA_TRY(run_rows(bench, kernels::softcap, s, n_rows));
  return bench.read(s.y, y, uint64_t{n_rows} * n);
}

Result<void> softcap_on(Check& check, float* y, uint32_t n_rows, uint32_t n, float cap) {
  if (check.gpu()) return softcap_on_gpu(*check.gpu(), y, n_rows, n, cap);
  softcap_cpu(check.pool(), y, uint64_t{n_rows} * n, cap);
  return {};
}

Result<void> gate_on_gpu(gpu::Device& device, const float* x, float* y, uint32_t n_rows, uint32_t n,
                         uint32_t n_gates) {
  Workbench bench(device);
  GateArgs g;
  g.label = "gate";
  PUNA_TRY(g.x, bench.upload(x, uint64_t{n_rows} * n_gates));
  PUNA_TRY(g.y, bench.upload(static_cast<const float*>(y), uint64_t{n_rows} * n));
  g.n = n;
  g.n_gates = n_gates;
  PUNA_TRY(run_rows(bench, kernels::gate, g, n_rows));
  return bench.read(g.y, y, uint64_t{n_rows} * n);
}

Result<void> gate_on(Check& check, const float* x, float* y, uint32_t n_rows, uint32_t n,
                     uint32_t n_gates) {
  if (check.gpu()) return gate_on_gpu(*check.gpu(), x, y, n_rows, n, n_gates);
  gate_cpu(check.pool(), x, y, n_rows, n, n_gates);
  return {};
}

Result<void> glu(Check& check) {
  const uint32_t n_rows = 5, n = 100;
  const auto both = normal(size_t{n_rows} * n * 2, 14, 0, 3);
  for (const Activation activation : kActivations) {
    if (!check.wanted("glu", "f32")) break;
    std::vector<float> y(size_t{n_rows} * n), expected;
    PUNA_TRY(glu_on(check, both.data(), y.data(), n_rows, n, activation));
    for (uint32_t t = 0; t < n_rows; ++t) {
      for (uint32_t i = 0; i < n; ++i) {
        const float* row = both.data() + size_t{t} * 2 * n;
        expected.push_back(
            static_cast<float>(activate_ref(activation, double{row[i]}) * row[n + i]));
      }
    }
    PUNA_TRY(
        check.record("glu", "f32", std::string(name(activation)), nmse(y, expected), kF32Limit));
  }
  return {};
}

Result<void> softcap(Check& check) {
  if (!check.wanted("softcap", "f32")) return {};
  const uint32_t n_rows = 5, n = 100;
  auto y = normal(size_t{n_rows} * n, 15, 0, 40), expected = y;
  for (float& v : expected) v = static_cast<float>(softcap_ref(double{v}, 30.0));
  PUNA_TRY(softcap_on(check, y.data(), n_rows, n, 30));
  PUNA_TRY(check.record("softcap", "f32", "cap 30", nmse(y, expected), kF32Limit));
  return {};
}

Result<void> gate(Check& check) {
  const uint32_t n_rows = 3, n = 256;
  const auto x = normal(size_t{n_rows} * n, 20), by = normal(x.size(), 21, 0, 3);
  for (const uint32_t n_gates : {1u, n}) {
    if (!check.wanted("gate", "f32")) break;
    auto y = x, expected = x;
    PUNA_TRY(gate_on(check, by.data(), y.data(), n_rows, n, n_gates));
    gate_ref(by.data(), expected.data(), n_rows, n, n_gates);
    PUNA_TRY(check.record("gate", "f32", fmt::format("{} rows of {}, {} gates", n_rows, n, n_gates),
                          nmse(y, expected), kF32Limit));
  }
  return {};
}

}  // namespace

Result<void> check_elementwise(Check& check) {
  PUNA_TRY(glu(check));
  PUNA_TRY(softcap(check));
  return gate(check);
}

}  // namespace puna::kernels
