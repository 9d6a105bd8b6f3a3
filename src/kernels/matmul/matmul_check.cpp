// The self-test of products with a weight, of every type.
#include <fmt/format.h>

#include <span>

#include "kernels/matmul/matmul.h"
#include "kernels/matmul/matmul_ref.h"
#include "kernels/selftest/check.h"
#include "kernels/selftest/check_gpu.h"
#include "kernels/selftest/check_scratch.h"
#include "kernels/selftest/check_weight.h"
#include "kernels/selftest/measure.h"

namespace puna::kernels {

using base::Result;

namespace {

struct Product {
  quant::Type type;
  std::span<const std::byte> file_rows;
  uint32_t rows, cols, n_rows;
  const float* x;
  float* y;  // [n_rows, rows], half of it when gated
  Epilogue epilogue = Epilogue::kStore;
  Numerics numerics = Numerics::kExact;
  const float* bias = nullptr;  // [rows]
  float scale = 1.0f;
  Activation activation = Activation::kSilu;
};

Result<XForm> matmul_on_gpu(gpu::Device& device, const Product& args) {
  Workbench bench(device);
  const bool gated = is_gated(args.epilogue);
  const uint32_t n_out = gated ? args.rows / 2 : args.rows;
  MatmulArgs m;
  m.label = "matmul";
  PUNA_TRY(m.weight, upload_weight(bench, args.type, args.file_rows, args.rows, args.cols));
  PUNA_TRY(m.step, bench.step(args.n_rows));
  PUNA_TRY(m.x, bench.upload(args.x, uint64_t{args.n_rows} * args.cols));
  if (args.epilogue == Epilogue::kAdd) {
    PUNA_TRY(m.y, bench.upload(static_cast<const float*>(args.y), uint64_t{args.n_rows} * n_out));
  } else {
    PUNA_TRY(m.y, bench.output(uint64_t{args.n_rows} * n_out));
  }
  m.y_stride = n_out;
  m.epilogue = args.epilogue;
  if (args.bias) {
    PUNA_TRY(m.bias, bench.upload(args.bias, args.rows));
  }
  m.scale = args.scale;
  m.activation = args.activation;
  m.numerics = args.numerics;
  m.max_rows = batch_class(args.n_rows);
  if (const uint64_t bytes = matmul_scratch_bytes(bench.info(), m); bytes > 0) {
    PUNA_TRY(m.scratch, bench.output(bytes / 4));
  }
  PUNA_TRY(run_rows(bench, kernels::matmul, m, args.n_rows));
  PUNA_TRY(bench.read(m.y, args.y, uint64_t{args.n_rows} * n_out));
  return matmul_x_form(bench.info(), m);
}

Result<XForm> matmul_on_cpu(base::ThreadPool& pool, const Product& args) {
  PUNA_TRY(CpuMatrix matrix, CpuMatrix::create(args.type, args.rows, args.cols, args.numerics));
  matrix.set_rows(0, args.file_rows);
  const bool gated = is_gated(args.epilogue);
  const CheckScratch scratch(matmul_cpu_scratch_bytes(args.cols, args.n_rows));
  MatmulCpuArgs cpu;
  cpu.weight = &matrix;
  cpu.x = args.x;
  cpu.y = args.y;
  cpu.n_rows = args.n_rows;
  cpu.y_stride = gated ? args.rows / 2 : args.rows;
  cpu.epilogue = args.epilogue;
  cpu.bias = args.bias;
  cpu.scale = args.scale;
  cpu.activation = args.activation;
  cpu.scratch = scratch.data();
  matmul_cpu(pool, cpu);
  return matmul_cpu_x_form(args.type, args.numerics, args.n_rows);
}

// Gives the form in which a call before the product left x.
Result<XForm> matmul_on(Check& check, const Product& args) {
  if (check.gpu()) return matmul_on_gpu(*check.gpu(), args);
  return matmul_on_cpu(check.pool(), args);
}

Result<void> matmul(Check& check, quant::Type type, Numerics numerics, uint32_t n_rows,
                    Epilogue epilogue) {
  const std::string label = weight_label(type, numerics);
  if (!check.wanted("matmul", label)) return {};
  const bool gated = is_gated(epilogue);
  // A gated output is a product of two, so its error varies more: many of them.
  const uint32_t rows = gated ? 1032 : 70, cols = 512, n_out = gated ? rows / 2 : rows;
  const CheckWeight weight = random_weight(type, rows, cols, 0.05f);
  const auto x = normal(size_t{n_rows} * cols, 2);
  auto y = normal(size_t{n_rows} * n_out, 3), expected = y;
  // The activation comes with all else that may precede an epilogue.
  const bool activates = epilogue == Epilogue::kActivate;
  const auto bias = normal(rows, 4);
  const float* shift = activates ? bias.data() : nullptr;
  const float scale = activates ? 0.6f : 1.0f;
  constexpr Activation kActivation = Activation::kGeluErf;
  PUNA_TRY(const XForm form,
           matmul_on(check, {type, weight.file, rows, cols, n_rows, x.data(), y.data(), epilogue,
                             numerics, shift, scale, kActivation}));
  matmul_ref({weight.values.data(), rows, cols, x.data(), expected.data(), n_rows, n_out, 0,
              epilogue, 0, shift, scale, kActivation});
  static constexpr const char* kEpilogues[] = {
      "", ", add", ", swiglu", ", geglu", ", clamped swiglu", ", softcap", ", bias, scale, gelu"};
  return check.record("matmul", label,
                      fmt::format("{}x{}, {} rows{}", rows, cols, n_rows,
                                  kEpilogues[static_cast<size_t>(epilogue)]),
                      nmse(y, expected), product_limit(form, type, numerics));
}

}  // namespace

Result<void> check_matmul(Check& check) {
  for (const quant::TypeInfo& type : quant::types()) {
    for (const Numerics numerics : {Numerics::kExact, Numerics::kFast}) {
      for (const uint32_t rows : {1u, 2u, 5u, 16u, 33u})
        PUNA_TRY(matmul(check, type.type, numerics, rows, Epilogue::kStore));
      PUNA_TRY(matmul(check, type.type, numerics, 1, Epilogue::kSwiGlu));
      PUNA_TRY(matmul(check, type.type, numerics, 20, Epilogue::kGeGlu));
      PUNA_TRY(matmul(check, type.type, numerics, 3, Epilogue::kAdd));
      PUNA_TRY(matmul(check, type.type, numerics, 1, Epilogue::kActivate));
    }
  }
  return {};
}

}  // namespace puna::kernels
