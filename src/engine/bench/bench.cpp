#include "engine/bench/bench.h"

#include <algorithm>

#include "base/clock.h"
#include "kernels/sample/sample.h"
#include "kernels/sample/sample_cpu.h"

namespace puna::engine {

using base::Result;
using base::Task;

namespace {

// Of a chain. Room for all of it is made before it begins, also in layers with windows, which have
// no more than Engine::load() gives them whatever the context.
constexpr uint32_t kMostSteps = 4096;

}  // namespace

std::vector<int32_t> bench_text(const Engine& engine, uint32_t first, uint32_t n) {
  std::vector<int32_t> out;
  for (uint32_t i = 0; i < n; ++i)
    out.push_back(static_cast<int32_t>(((first + i) * 7919u + 1) % engine.config().vocab));
  return out;
}

Task<Result<void>> bench_prefill(Engine& engine, uint32_t sequence, uint32_t n_tokens,
                                 const std::atomic<bool>* cancel) {
  const std::vector<int32_t> tokens =
      bench_text(engine, engine.cache().n_tokens(sequence), n_tokens);
  // As the scheduler would read it.
  const double turn_ms = engine.options().turn_ms;
  std::span<const int32_t> left = tokens;
  const base::Timer whole;
  for (;;) {
    const uint32_t n = engine.budget().tokens(turn_ms, engine.step_tokens(left.size()));
    if (n >= left.size()) break;
    const base::Timer timer;
    PUNA_CO_TRY(co_await engine.prefill(sequence, {left.begin(), left.begin() + n}, cancel));
    left = left.subspan(n);
    if (turn_ms <= 0) continue;
    PUNA_CO_TRY(co_await engine.executor().rest());
    engine.budget().read(n, timer.ms());
  }
  std::vector<BatchRow> rows = {
      {sequence, {left.begin(), left.end()}, {.temperature = 0}, /*chooses=*/true}};
  PUNA_CO_TRY(check_cancel(cancel));
  PUNA_CO_TRY(co_await engine.decode(std::move(rows), 1,
                                     [](std::span<const kernels::Chosen>) { return true; }));
  if (turn_ms <= 0) engine.budget().read(n_tokens, whole.ms());
  co_return {};
}

Task<Result<void>> bench_decode(Engine& engine, uint32_t sequence, uint32_t n_tokens,
                                kernels::SamplingParams sampling, ChooseOn where,
                                const std::atomic<bool>* cancel) {
  if (where == ChooseOn::kDevice) {
    for (uint32_t n = 0; n < n_tokens; n += kMostSteps) {
      std::vector<BatchRow> rows = {{sequence, {1}, sampling, /*chooses=*/true}};
      const auto go_on = [cancel](std::span<const kernels::Chosen>) {
        return check_cancel(cancel).has_value();
      };
      PUNA_CO_TRY(
          co_await engine.decode(std::move(rows), std::min(kMostSteps, n_tokens - n), go_on));
      PUNA_CO_TRY(check_cancel(cancel));
    }
    co_return {};
  }
  std::vector<float> logits(engine.config().vocab);
  kernels::CpuSampler sampler;
  int32_t id = 1;
  for (uint32_t i = 0; i < n_tokens; ++i) {
    PUNA_CO_TRY(check_cancel(cancel));
    PUNA_CO_TRY(co_await engine.logits_behind(sequence, std::vector<int32_t>(1, id), logits));
    const std::span<const int32_t> text = engine.cache().tokens(sequence);
    id = sampler.sample(sampling, logits, text, static_cast<uint32_t>(text.size()));
    if (id == kernels::kNoToken) co_return std::unexpected(co_await engine.no_choice(sequence));
  }
  co_return {};
}

Task<Result<StepTimes>> bench_step(Engine& engine, std::vector<uint32_t> sequences,
                                   uint32_t n_tokens, kernels::SamplingParams sampling) {
  plan::Step step;
  for (const uint32_t sequence : sequences) {
    const uint32_t first = engine.cache().n_tokens(sequence);
    PUNA_CO_TRY(co_await engine.cache().make_room(sequence, first + n_tokens));
    step.add(sequence, std::vector<int32_t>(n_tokens, 1), first);
    step.output_rows.push_back(step.n_tokens() - 1);
  }
  co_return engine.executor().time_step(step, sampling);
}

Result<kernels::Ceilings> bench_ceilings(Engine& engine) {
  gpu::Device* device = engine.device();
  return device ? kernels::measure_ceilings(*device) : kernels::measure_ceilings(*engine.threads());
}

}  // namespace puna::engine
