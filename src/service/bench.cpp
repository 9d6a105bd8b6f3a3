#include "service/bench.h"

#include <fmt/format.h>

#include "base/check.h"
#include "base/clock.h"
#include "engine/bench/half_filter.h"

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
  PUNA_CO_TRY(
      co_await engine.prefill(sequence, {text.begin() + n_known, text.end()}, phase.cancel));
  PUNA_CO_TRY(cache.keep(sequence));
  co_return co_await engine.executor().rest();
}

// Texts that go on together when all have come so far.
class Gathering {
 public:
  Gathering(LoadedModel& model, const Together& what) : model_(model), what_(what) {}

  // Writes all texts, n_tokens each. They begin together, and when each has its first token they
  // go on together. `filtered`: beside one more, which passes a filter.
  Task<Result<void>> write(uint32_t n_tokens, bool filtered) {
    std::vector<std::shared_ptr<engine::Control>> controls;
    Result<void> outcome;
    const uint32_t n_all = what_.n_texts + filtered;
    uint32_t n_left = what_.n_texts, n_first = 0, n_under_way = n_all;
    co_await base::await_callback<bool>([&](const std::function<void(bool)>& done) {
      const auto release = [&] {
        for (const auto& control : controls) control->hold = false;
        model_.scheduler->wake();
      };
      for (uint32_t i = 0; i < n_all; ++i) {
        controls.push_back(std::make_shared<engine::Control>());
        controls.back()->hold = true;
      }
      for (uint32_t i = 0; i < n_all; ++i) {
        const bool counts = i < what_.n_texts;
        engine::GenerateOptions options;
        options.sampling = what_.sampling;
        options.max_tokens = n_tokens;
        if (!counts) {
          options.filter = std::make_shared<engine::HalfFilter>(model_.engine->config().vocab);
        }
        options.ignore_end = true;
        options.control = controls[i];
        const auto on_token = [&, i, release, n = 0u](const kernels::Chosen&) mutable {
          if (n++ > 0) return true;
          controls[i]->hold = n_tokens > 1;
          if (++n_first < n_all) return true;
          first_ms = timer_.ms();
          release();
          return true;
        };
        const auto ended = [&, done, counts](Result<engine::GenerateStats> stats) {
          if (counts && --n_left == 0) {
            end_ms = timer_.ms();
            controls.back()->cancel = true;  // only one that is filtered still goes on
            model_.scheduler->wake();
          }
          if (stats) n_evaluated += stats->n_prompt;
          if (!stats) outcome = std::unexpected(std::move(stats.error()));
          if (--n_under_way == 0) done(true);
        };
        base::deliver<Result<engine::GenerateStats>>(
            model_.scheduler->generate(prompt(i), options, {}, on_token), ended);
      }
      timer_ = {};
      release();
    });
    co_return outcome;
  }

  uint32_t n_evaluated = 0;  // tokens of prompts
  double first_ms = 0;       // until all had their first token
  double end_ms = 0;         // until all were written

 private:
  std::vector<int32_t> prompt(uint32_t text) const {
    const engine::Engine& engine = *model_.engine;
    std::vector<int32_t> out = engine::bench_text(engine, what_.salt, what_.n_shared);
    // Far from all others.
    const uint32_t from = (what_.salt + text + 1) * (what_.n_prompt + 1);
    const std::vector<int32_t> own =
        engine::bench_text(engine, from, what_.n_prompt - what_.n_shared);
    out.insert(out.end(), own.begin(), own.end());
    return out;
  }

  LoadedModel& model_;
  Together what_;
  base::Timer timer_;
};

}  // namespace

Task<Result<double>> time_phase(LoadedModel& model, Phase phase) {
  double ms = 0;
  engine::Engine& engine = *model.engine;
  const auto job = [&](engine::Scheduler::Sequences sequences) -> Task<Result<void>> {
    const uint32_t sequence = sequences[0];
    PUNA_CO_TRY(co_await fill(engine, sequence, phase));
    const base::Timer timer;
    if (phase.kind == Phase::Kind::kPrefill) {
      PUNA_CO_TRY(co_await engine::bench_prefill(engine, sequence, phase.n_tokens, phase.cancel));
    } else {
      PUNA_CO_TRY(co_await engine::bench_decode(engine, sequence, phase.n_tokens, phase.sampling,
                                                phase.where, phase.cancel));
    }
    ms = timer.ms();
    co_return {};
  };
  PUNA_CO_TRY(
      co_await model.scheduler->alone(std::vector<uint32_t>(1, phase.depth + phase.n_tokens), job));
  co_return ms;
}

Result<kernels::Ceilings> ceilings(LoadedModel& model) {
  return engine::bench_ceilings(*model.engine);
}

Task<Result<engine::StepTimes>> time_step(LoadedModel& model, Phase phase) {
  engine::StepTimes times;
  engine::Engine& engine = *model.engine;
  const auto job = [&](engine::Scheduler::Sequences sequences) -> Task<Result<void>> {
    for (const uint32_t sequence : sequences) PUNA_CO_TRY(co_await fill(engine, sequence, phase));
    std::vector<uint32_t> own(sequences.begin(), sequences.end());
    PUNA_CO_TRY(
        times, co_await engine::bench_step(engine, std::move(own), phase.n_tokens, phase.sampling));
    co_return {};
  };
  std::vector<uint32_t> lengths(phase.n_texts, phase.depth + phase.n_tokens);
  PUNA_CO_TRY(co_await model.scheduler->alone(std::move(lengths), job));
  co_return times;
}

Task<Result<TogetherTimes>> time_together(LoadedModel& model, Together what) {
  PUNA_CHECK(what.n_shared <= what.n_prompt && what.n_texts > 0);
  TogetherTimes out;
  Gathering prompts(model, what);
  PUNA_CO_TRY(co_await prompts.write(1, /*filtered=*/false));
  out.prompt_ms = prompts.first_ms;
  out.n_prompt_tokens = prompts.n_evaluated;
  if (what.n_answer == 0) co_return out;
  // Again, and this time the prompts are known.
  Gathering answers(model, what);
  PUNA_CO_TRY(co_await answers.write(what.n_answer + 1, what.beside_filtered));
  out.answer_ms = answers.end_ms - answers.first_ms;
  out.n_answer_tokens = what.n_texts * what.n_answer;
  co_return out;
}

}  // namespace puna::service
