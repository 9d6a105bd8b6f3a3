// The self-test of embedding tables, of every type.
#include <fmt/format.h>

#include <span>

#include "kernels/embed/embed.h"
#include "kernels/selftest/check.h"
#include "kernels/selftest/check_gpu.h"
#include "kernels/selftest/check_weight.h"
#include "kernels/selftest/measure.h"

namespace puna::kernels {

using base::Result;

namespace {

Result<void> embed_on_gpu(gpu::Device& device, const CheckWeight& weight,
                          std::span<const int32_t> tokens, float scale, float* x) {
  Workbench bench(device);
  const uint32_t n = static_cast<uint32_t>(tokens.size());
  EmbedArgs e;
  e.label = "embed";
  PUNA_TRY(e.weight, upload_weight(bench, weight.type, weight.file, weight.rows, weight.cols));
  std::vector<uint32_t> words(kStepWords);
  words[kStepTokenCount] = n;
  for (uint32_t t = 0; t < n; ++t) words[kStepTokens + t] = static_cast<uint32_t>(tokens[t]);
  PUNA_TRY(e.step, bench.upload(std::span<const uint32_t>(words)));
  PUNA_TRY(e.x, bench.output(uint64_t{n} * weight.cols));
  e.scale = scale;
  PUNA_TRY(run_rows(bench, kernels::embed, e, n));
  return bench.read(e.x, x, uint64_t{n} * weight.cols);
}

Result<void> embed_on_cpu(base::ThreadPool& pool, const CheckWeight& weight,
                          std::span<const int32_t> tokens, float scale, float* x) {
  PUNA_TRY(CpuMatrix matrix,
           CpuMatrix::create(weight.type, weight.rows, weight.cols, Numerics::kExact));
  matrix.set_rows(0, weight.file);
  embed_cpu(pool, {&matrix, tokens.data(), static_cast<uint32_t>(tokens.size()), x, scale});
  return {};
}

// The rows of a weight as an embedding table gives them: x [tokens, cols].
Result<void> embed_on(Check& check, const CheckWeight& weight, std::span<const int32_t> tokens,
                      float scale, float* x) {
  if (check.gpu()) return embed_on_gpu(*check.gpu(), weight, tokens, scale, x);
  return embed_on_cpu(check.pool(), weight, tokens, scale, x);
}

Result<void> embed(Check& check, quant::Type type) {
  const std::string label(quant::info(type).name);
  if (!check.wanted("embed", label)) return {};
  const uint32_t rows = 70, cols = 512;
  const CheckWeight weight = random_weight(type, rows, cols, 1.0f);
  const std::vector<int32_t> tokens = {0, 69, 3, 17, 17};
  std::vector<float> x(tokens.size() * cols), expected;
  PUNA_TRY(embed_on(check, weight, tokens, 1.5f, x.data()));
  for (int32_t t : tokens) {
    for (uint32_t c = 0; c < cols; ++c)
      expected.push_back(1.5f * weight.values[static_cast<size_t>(t) * cols + c]);
  }
  return check.record("embed", label, fmt::format("{}x{}, {} rows", rows, cols, tokens.size()),
                      nmse(x, expected), kF32Limit);
}

}  // namespace

Result<void> check_embed(Check& check) {
  for (const quant::TypeInfo& type : quant::types()) PUNA_TRY(embed(check, type.type));
  return {};
}

}  // namespace puna::kernels
