// The self-test of experts, of every weight type.
#include <fmt/format.h>

#include <span>

#include "kernels/moe/moe.h"
#include "kernels/moe/moe_ref.h"
#include "kernels/selftest/check.h"
#include "kernels/selftest/check_gpu.h"
#include "kernels/selftest/check_scratch.h"
#include "kernels/selftest/check_weight.h"
#include "kernels/selftest/measure.h"

namespace puna::kernels {

using base::Result;

namespace {

Result<XForm> moe_on_gpu(gpu::Device& device, quant::Type type, Numerics numerics,
                         std::span<const std::byte> gate_up, std::span<const std::byte> down,
                         const MoeCpuArgs& args) {
  Workbench bench(device);
  const MoeShape& shape = args.shape;
  const uint32_t n = shape.route.n_experts;
  MoeArgs a;
  a.label = "experts";
  a.shape = shape;
  PUNA_TRY(a.gate_up, upload_weight(bench, type, gate_up, n * 2 * shape.ffn, shape.hidden));
  PUNA_TRY(a.down, upload_weight(bench, type, down, n * shape.hidden, shape.ffn));
  PUNA_TRY(a.step, bench.step(args.n_rows));
  PUNA_TRY(a.logits, bench.upload(args.logits, uint64_t{args.n_rows} * n));
  PUNA_TRY(a.x, bench.upload(args.x, uint64_t{args.n_rows} * shape.hidden));
  PUNA_TRY(a.y, bench.output(uint64_t{args.n_rows} * shape.hidden));
  PUNA_TRY(a.gate_up_bias, bench.upload(args.gate_up_bias, uint64_t{n} * 2 * shape.ffn));
  PUNA_TRY(a.down_bias, bench.upload(args.down_bias, uint64_t{n} * shape.hidden));
  a.numerics = numerics;
  a.max_rows = batch_class(args.n_rows);
  PUNA_TRY(a.routes, bench.output(moe_routes_bytes(shape, a.max_rows) / 4));
  PUNA_TRY(a.groups, bench.output(moe_groups_bytes(shape, a.max_rows) / 4));
  PUNA_TRY(a.scratch, bench.output(moe_scratch_bytes(bench.info(), a) / 4));
  PUNA_TRY(run_rows(bench, kernels::moe, a, args.n_rows));
  PUNA_TRY(bench.read(a.y, args.y, uint64_t{args.n_rows} * shape.hidden));
  return moe_x_form(bench.info(), a);
}

Result<XForm> moe_on_cpu(base::ThreadPool& pool, quant::Type type, Numerics numerics,
                         std::span<const std::byte> gate_up, std::span<const std::byte> down,
                         const MoeCpuArgs& args) {
  const MoeShape& shape = args.shape;
  const uint32_t n = shape.route.n_experts;
  PUNA_TRY(CpuMatrix gate_up_matrix,
           CpuMatrix::create(type, n * 2 * shape.ffn, shape.hidden, numerics));
  PUNA_TRY(CpuMatrix down_matrix, CpuMatrix::create(type, n * shape.hidden, shape.ffn, numerics));
  gate_up_matrix.set_rows(0, gate_up);
  down_matrix.set_rows(0, down);
  const CheckScratch scratch(moe_cpu_scratch_bytes(shape, args.n_rows));
  MoeCpuArgs cpu = args;
  cpu.gate_up = &gate_up_matrix;
  cpu.down = &down_matrix;
  cpu.scratch = scratch.data();
  moe_cpu(pool, cpu);
  return matmul_cpu_x_form(type, numerics, args.n_rows);
}

// Experts of one weight type each; args.gate_up and args.down are made of the rows here. Gives the
// form in which a call before the products left x.
Result<XForm> moe_on(Check& check, quant::Type type, Numerics numerics,
                     std::span<const std::byte> gate_up, std::span<const std::byte> down,
                     const MoeCpuArgs& args) {
  if (check.gpu()) return moe_on_gpu(*check.gpu(), type, numerics, gate_up, down, args);
  return moe_on_cpu(check.pool(), type, numerics, gate_up, down, args);
}

Result<void> moe(Check& check, quant::Type type, Numerics numerics, uint32_t n_rows) {
  const std::string label = weight_label(type, numerics);
  if (!check.wanted("experts", label)) return {};
  MoeRefArgs ref;
  ref.shape = {256, 256, {.n_experts = 7, .n_chosen = 3}, Epilogue::kSwiGluClamped};
  const uint32_t n = ref.shape.route.n_experts, gate_rows = n * 2 * 256, down_rows = n * 256;
  const CheckWeight gate_up = random_weight(type, gate_rows, 256, 0.05f);
  const CheckWeight down = random_weight(type, down_rows, 256, 0.05f);
  const auto x = normal(size_t{n_rows} * 256, 2), logits = normal(size_t{n_rows} * n, 3);
  const auto gate_up_bias = normal(gate_rows, 4), down_bias = normal(down_rows, 5);
  std::vector<float> y(x.size()), expected(x.size());
  MoeCpuArgs args;
  args.shape = ref.shape;
  ref.gate_up = gate_up.values.data();
  ref.down = down.values.data();
  ref.logits = args.logits = logits.data();
  ref.gate_up_bias = args.gate_up_bias = gate_up_bias.data();
  ref.down_bias = args.down_bias = down_bias.data();
  ref.x = args.x = x.data();
  ref.y = expected.data();
  args.y = y.data();
  ref.n_rows = args.n_rows = n_rows;
  PUNA_TRY(const XForm form, moe_on(check, type, numerics, gate_up.file, down.file, args));
  moe_ref(ref);
  return check.record("experts", label, fmt::format("7 of 256x256, 3 a row, {} rows", n_rows),
                      nmse(y, expected), product_limit(form, type, numerics));
}

}  // namespace

Result<void> check_moe(Check& check) {
  for (const quant::TypeInfo& type : quant::types()) {
    for (const Numerics numerics : {Numerics::kExact, Numerics::kFast}) {
      for (const uint32_t rows : {1u, 3u, 33u}) PUNA_TRY(moe(check, type.type, numerics, rows));
    }
  }
  return {};
}

}  // namespace puna::kernels
