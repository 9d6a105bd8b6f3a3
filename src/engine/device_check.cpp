#include "engine/device_check.h"

#include <fmt/format.h>

#include <span>
#include <vector>

#include "base/thread_pool.h"
#include "engine/executor.h"
#include "kernels/profile/profile.h"
#include "kernels/selftest/measure.h"
#include "models/models.h"
#include "models/synthetic.h"
#include "plan/fuse.h"

namespace puna::engine {
namespace {

using base::Result;
using base::Task;

constexpr const char* kModel = "tiny:pure:q4_0";
constexpr uint32_t kPromptTokens = 40;  // some tiles of a prompt, the last one not full
constexpr double kExactLimit = 1e-6;    // NMSE, those of reference logits
constexpr double kFastLimit = 2e-3;

plan::CacheConfig cache_of(kernels::Numerics numerics) {
  plan::CacheConfig cache;
  cache.type =
      numerics == kernels::Numerics::kExact ? kernels::KvType::kF32 : kernels::KvType::kF16;
  cache.pages_per_sequence = cache.n_pages = 2;
  return cache;
}

plan::Step step_of(uint32_t first, uint32_t n) {
  plan::Step step;
  for (uint32_t i = 0; i < n; ++i) {
    step.tokens.push_back(static_cast<int32_t>((first + i) * 37 % 500));
    step.positions.push_back(static_cast<int32_t>(first + i));
    step.sequences.push_back(0);
    step.output_rows.push_back(i);
  }
  return step;
}

// The logits of a prompt and of one step after it.
Task<Result<std::vector<float>>> logits_of(Executor& executor, uint32_t vocab) {
  const std::vector<uint32_t> pages = {0, 1};
  PUNA_CO_TRY(executor.set_pages(0, 0, pages, {}));
  std::vector<float> out(size_t{kPromptTokens + 1} * vocab);
  const std::span<float> all = out;
  PUNA_CO_TRY(
      co_await executor.run(step_of(0, kPromptTokens), all.first(size_t{kPromptTokens} * vocab)));
  PUNA_CO_TRY(co_await executor.run(step_of(kPromptTokens, 1), all.last(vocab)));
  co_return out;
}

}  // namespace

Task<Result<void>> check_device(gpu::Device& device, kernels::Numerics numerics) {
  PUNA_CO_TRY(const formats::ModelFile file, models::synthetic_model(kModel));
  PUNA_CO_TRY(const models::Config config, models::read_config(file));
  PUNA_CO_TRY(plan::Graph graph, models::build(file, config));
  const uint32_t vocab = graph.vocab;

  base::ThreadPool pool(1);
  CpuOptions exact;
  exact.numerics = kernels::Numerics::kExact;
  PUNA_CO_TRY(auto cpu, co_await load_cpu(file, plan::fuse(graph),
                                          cache_of(kernels::Numerics::kExact), exact, pool, {}));
  PUNA_CO_TRY(const std::vector<float> want, co_await logits_of(*cpu, vocab));
  GpuOptions options;
  options.numerics = numerics;
  PUNA_CO_TRY(auto gpu, co_await load_gpu(file, plan::fuse(std::move(graph)), cache_of(numerics),
                                          options, device, {}));
  PUNA_CO_TRY(const std::vector<float> got, co_await logits_of(*gpu, vocab));

  const double error = kernels::nmse(got, want);
  const double limit = numerics == kernels::Numerics::kExact ? kExactLimit : kFastLimit;
  if (error <= limit) co_return {};  // NaN is not
  co_return base::fail(
      base::ErrorCode::kDevice,
      fmt::format("{} computes wrong numbers (NMSE {:.1e}, at most {:.0e} is right).",
                  device.info().name, error, limit));
}

std::string check_key(const gpu::DeviceInfo& device, kernels::Numerics numerics) {
  const auto key = kernels::ProfileKey::of(device);
  return fmt::format("{}; {}; {}; {}; kernels {}; {}", key.adapter, key.backend, key.driver,
                     key.features, key.kernels,
                     numerics == kernels::Numerics::kExact ? "exact" : "fast");
}

}  // namespace puna::engine
