#include "service/bench.h"

#include <fmt/format.h>

#include "base/clock.h"

namespace puna::service {

using base::Result;
using base::Task;

namespace {

// Fills an empty sequence up to the phase's depth.
Task<Result<void>> fill(engine::Engine& engine, uint32_t sequence, const Phase& phase) {
  if (phase.n_tokens == 0 || uint64_t{phase.n_tokens} + phase.depth > engine.context()) {
    co_return base::fail(base::ErrorCode::kInvalidArgument,
                         fmt::format("{} tokens behind {} do not fit a context of {}.",
                                     phase.n_tokens, phase.depth, engine.context()));
  }
  engine::TextCache& cache = engine.cache();
  const std::vector<int32_t> text = engine::bench_text(engine, 0, phase.depth);
  PUNA_CO_TRY(co_await cache.begin(sequence, text));
  const uint32_t n_known = cache.n_tokens(sequence);
  PUNA_CO_TRY(co_await engine.prefill(sequence, {text.begin() + n_known, text.end()}));
  PUNA_CO_TRY(cache.keep(sequence));
  co_return co_await engine.executor().rest();
}

}  // namespace

Task<Result<double>> time_phase(LoadedModel& model, Phase phase) {
  double ms = 0;
  engine::Engine& engine = *model.engine;
  const auto job = [&](uint32_t sequence) -> Task<Result<void>> {
    PUNA_CO_TRY(co_await fill(engine, sequence, phase));
    const base::Timer timer;
    if (phase.kind == Phase::Kind::kPrefill) {
      PUNA_CO_TRY(co_await engine::bench_prefill(engine, sequence, phase.n_tokens));
    } else {
      PUNA_CO_TRY(co_await engine::bench_decode(engine, sequence, phase.n_tokens, phase.sampling,
                                                phase.where));
    }
    ms = timer.ms();
    co_return {};
  };
  PUNA_CO_TRY(co_await model.scheduler->alone(phase.depth + phase.n_tokens, job));
  co_return ms;
}

Result<kernels::Ceilings> ceilings(LoadedModel& model) {
  return engine::bench_ceilings(*model.engine);
}

Task<Result<engine::StepTimes>> time_step(LoadedModel& model, Phase phase) {
  engine::StepTimes times;
  engine::Engine& engine = *model.engine;
  const auto job = [&](uint32_t sequence) -> Task<Result<void>> {
    PUNA_CO_TRY(co_await fill(engine, sequence, phase));
    PUNA_CO_TRY(times,
                co_await engine::bench_step(engine, sequence, phase.n_tokens, phase.sampling));
    co_return {};
  };
  PUNA_CO_TRY(co_await model.scheduler->alone(phase.depth + phase.n_tokens, job));
  co_return times;
}

}  // namespace puna::service
