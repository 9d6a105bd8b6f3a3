#include "engine/engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/check.h"
#include "base/clock.h"
#include "engine/blueprint.h"
#include "engine/no_numbers.h"
#include "kernels/sample/sample.h"
#include "kernels/sample/sample_cpu.h"

namespace puna::engine {

using base::ErrorCode;
using base::Result;
using base::Task;

namespace {

// A first guess of what a token of a prompt takes, before there is a measured one: of a page, that
// it is as slow as is usual there; of a CPU, by its multiplications; a GPU is taken for fast.
double guess_ms_per_token(const formats::ModelFile& file, const EngineOptions& options, bool gpu,
                          int n_threads) {
  constexpr double kPageMs = 3, kGpuMs = 0.05, kMultiplicationsPerMs = 5e7;  // of one thread
  if (options.turn_ms > 0) return kPageMs;
  if (gpu) return kGpuMs;
  double n = 0;
  for (const formats::Tensor& t : file.tensors) n += static_cast<double>(t.rows() * t.columns());
  return n / (kMultiplicationsPerMs * std::max(n_threads, 1));
}

}  // namespace

Task<Result<std::unique_ptr<Engine>>> Engine::load(formats::ModelFile file,
                                                   std::shared_ptr<gpu::Device> device,
                                                   EngineOptions options) {
  PUNA_CO_TRY(Blueprint blueprint, make_blueprint(file, options));
  auto engine = std::unique_ptr<Engine>(new Engine());
  engine->config_ = std::move(blueprint.config);
  engine->context_ = blueprint.context;
  engine->pooling_ = blueprint.pooling;
  engine->recurrent_ = blueprint.recurrent;
  engine->vocab_ = blueprint.graph.vocab;
  engine->n_out_ = blueprint.graph.n_out();
  engine->file_ = std::move(file);
  engine->options_ = options;
  engine->device_ = std::move(device);
  PUNA_CO_TRY(Placed placed,
              co_await place(engine->file_, std::move(blueprint.graph), blueprint.cache,
                             place_options(options), engine->device_.get(), options.hooks));
  engine->pool_ = std::move(placed.pool);
  engine->executor_ = std::move(placed.executor);
  engine->placement_ = std::move(placed.placement);
  engine->begin(blueprint.cache);
  co_return engine;
}

Result<Placement> Engine::forecast(const formats::ModelFile& file, const EngineOptions& options,
                                   const gpu::DeviceInfo* device,
                                   std::optional<uint64_t> gpu_bytes) {
  PUNA_TRY(Blueprint blueprint, make_blueprint(file, options));
  return engine::forecast(std::move(blueprint.graph), blueprint.cache, place_options(options),
                          device, gpu_bytes);
}

std::unique_ptr<Engine> Engine::around(std::unique_ptr<Executor> executor, models::Config config,
                                       plan::CacheConfig cache, bool recurrent,
                                       EngineOptions options) {
  auto engine = std::unique_ptr<Engine>(new Engine());
  engine->context_ = cache.context();
  engine->vocab_ = engine->n_out_ = config.vocab;
  engine->config_ = std::move(config);
  engine->options_ = std::move(options);
  engine->options_.n_sequences = cache.n_sequences;
  engine->recurrent_ = recurrent;
  engine->executor_ = std::move(executor);
  engine->begin(cache);
  return engine;
}

void Engine::begin(const plan::CacheConfig& cache) {
  cache_.emplace(cache, recurrent_, options_.host_cache_bytes, *executor_);
  budget_.emplace(guess_ms_per_token(file_, options_, device_ != nullptr, n_threads()));
}

Result<void> Engine::check_tokens(std::span<const int32_t> tokens) const {
  for (int32_t id : tokens) {
    if (id < 0 || static_cast<uint32_t>(id) >= vocab_) {
      return base::fail(
          ErrorCode::kInvalidArgument,
          fmt::format("Token id {} is outside the vocabulary (0 to {}).", id, vocab_ - 1));
    }
  }
  return {};
}

Result<void> Engine::check_sampling(const kernels::SamplingParams& sampling) const {
  PUNA_TRY(check(sampling));
  for (const auto& [id, bias] : sampling.logit_bias) {
    if (static_cast<uint32_t>(id) < vocab_) continue;
    return base::fail(
        ErrorCode::kInvalidArgument,
        fmt::format("The logit bias of token {} is for an id outside the vocabulary (0 to {}).", id,
                    vocab_ - 1));
  }
  return {};
}

Result<void> Engine::check_batch(std::span<const BatchRow> rows, uint32_t n_steps) const {
  const auto refuse = [](std::string why) {
    return base::fail(ErrorCode::kInvalidArgument, std::move(why));
  };
  const auto n_choices = static_cast<size_t>(
      std::ranges::count_if(rows, [](const BatchRow& row) { return row.chooses; }));
  if (rows.empty() || n_choices > kernels::kMaxBatch) {
    return refuse(fmt::format("A batch has {} rows, {} of which choose a token, but 1 to {} can.",
                              rows.size(), n_choices, kernels::kMaxBatch));
  }
  size_t n_tokens = 0;
  std::vector<bool> taken(cache_->n_sequences());
  for (const BatchRow& row : rows) {
    PUNA_TRY(check_sampling(row.sampling));
    PUNA_TRY(check_tokens(row.tokens));
    if (row.sequence >= taken.size()) {
      return refuse(fmt::format("There is no sequence {}; the engine was loaded with {}.",
                                row.sequence, taken.size()));
    }
    if (taken[row.sequence])
      return refuse(fmt::format("Sequence {} is in a batch twice.", row.sequence));
    taken[row.sequence] = true;
    if (row.tokens.empty())
      return refuse(fmt::format("Sequence {} goes on with no tokens.", row.sequence));
    if (!row.chooses && n_steps > 1)
      return refuse(fmt::format("Sequence {} chooses no token for a second step.", row.sequence));
    n_tokens += row.tokens.size();
    const uint32_t n_own = row.once() ? std::min(n_steps, 1u) : n_steps;
    const size_t end = cache_->n_tokens(row.sequence) + row.tokens.size() + n_own;
    if (n_own == 0 || end - 1 > context_) {
      return refuse(
          fmt::format("Sequence {} would have {} tokens after {} steps, but the context holds {}.",
                      row.sequence, end, n_own, context_));
    }
  }
  if (n_tokens <= kernels::kMaxStepTokens) return {};
  return refuse(fmt::format("A batch has {} tokens, but a step takes at most {}.", n_tokens,
                            kernels::kMaxStepTokens));
}

Task<Result<void>> Engine::decode(std::vector<BatchRow> rows, uint32_t n_steps,
                                  OnChosen on_chosen) {
  PUNA_CO_TRY(check_batch(rows, n_steps));
  const auto trim = [&] {
    for (const BatchRow& row : rows) cache_->trim(row.sequence);
  };
  plan::Step step;
  std::vector<OutputSampling> outputs;
  for (const BatchRow& row : rows) {
    const std::span<const int32_t> cached = cache_->tokens(row.sequence);
    step.add(row.sequence, row.tokens, cache_->n_tokens(row.sequence));
    const size_t end = cached.size() + row.tokens.size() + (row.once() ? 0 : n_steps - 1);
    if (auto room = co_await cache_->make_room(row.sequence, static_cast<uint32_t>(end)); !room) {
      trim();
      co_return room;
    }
    if (!row.chooses) continue;
    step.output_rows.push_back(step.n_tokens() - 1);
    OutputSampling& output = outputs.emplace_back(OutputSampling{row.sampling, {}, row.once()});
    if (row.filter) output.allowed = row.filter->allowed().value_or(std::span<const uint32_t>());
    output.state = row.state;
    if (row.sampling.looks_back() == 0) continue;
    output.text.assign(cached.begin(), cached.end());
    output.text.insert(output.text.end(), row.tokens.begin(), row.tokens.end());
  }
  const auto evaluated = [&](std::span<const kernels::Chosen> chosen) {
    for (BatchRow& row : rows) {
      if (row.tokens.empty()) continue;  // it was chosen once
      cache_->append(row.sequence, row.tokens);
      row.tokens.clear();
      if (!row.chooses) continue;
      if (!row.once()) row.tokens = {chosen.front().id};
      chosen = chosen.subspan(1);
    }
  };
  Result<void> done;
  if (outputs.empty()) {
    done = co_await executor_->run(std::move(step), {});
    if (done) evaluated({});
  } else {
    const auto on_step = [&](std::span<const kernels::Chosen> chosen) {
      evaluated(chosen);
      const bool decided = std::ranges::none_of(
          chosen, [](const kernels::Chosen& c) { return c.id == kernels::kNoToken; });
      return on_chosen(chosen) && decided;
    };
    done = co_await executor_->decode(std::move(step), std::move(outputs), n_steps, on_step);
  }
  trim();
  co_return done;
}

Task<base::Error> Engine::no_choice(uint32_t sequence) {
  const uint32_t position = cache_->n_tokens(sequence);
  cache_->forget(sequence);
  co_return co_await no_choice_at(position);
}

Task<base::Error> Engine::no_numbers(std::string what) const {
  const bool widest =
      options_.numerics == kernels::Numerics::kExact && options_.kv_type == kernels::KvType::kF32;
  return explain_no_numbers(file_, std::move(what), widest, options_.hooks.cancel);
}

Task<base::Error> Engine::no_choice_at(size_t position) const {
  return no_numbers(fmt::format(
      "No token can be chosen at position {}: its logits hold NaN or +inf, or nothing but -inf",
      position));
}

Task<Result<void>> Engine::prefill(uint32_t sequence, std::vector<int32_t> tokens) {
  PUNA_CO_TRY(check_tokens(tokens));
  for (std::span<const int32_t> left = tokens; !left.empty();) {
    const auto part = left.first(std::min<size_t>(kernels::kMaxStepTokens, left.size()));
    const uint32_t from = cache_->n_tokens(sequence);
    PUNA_CO_TRY(co_await cache_->make_room(sequence, from + static_cast<uint32_t>(part.size())));
    plan::Step step;
    step.add(sequence, part, from);
    PUNA_CO_TRY(co_await executor_->run(std::move(step), {}));
    cache_->append(sequence, part);
    left = left.subspan(part.size());
  }
  co_return {};
}

Task<Result<void>> Engine::logits(uint32_t sequence, std::vector<int32_t> tokens,
                                  std::span<float> out) {
  if (tokens.empty() || tokens.size() > context_) {
    co_return base::fail(ErrorCode::kInvalidArgument,
                         fmt::format("{} tokens are given, but 1 to {} (the context) are expected.",
                                     tokens.size(), context_));
  }
  PUNA_CO_TRY(check_tokens(tokens));
  Result<void> done;
  for (size_t from = 0; done && from < tokens.size(); from += kernels::kMaxStepTokens) {
    const size_t n = std::min<size_t>(kernels::kMaxStepTokens, tokens.size() - from);
    const std::span<const int32_t> part = std::span(tokens).subspan(from, n);
    done = co_await logits_behind(sequence, {part.begin(), part.end()},
                                  out.subspan(from * vocab_, n * vocab_));
  }
  cache_->forget(sequence);
  co_return done;
}

Task<Result<void>> Engine::logits_behind(uint32_t sequence, std::vector<int32_t> tokens,
                                         std::span<float> out) {
  PUNA_CO_TRY(check_tokens(tokens));
  const uint32_t from = cache_->n_tokens(sequence);
  const size_t most = std::min(kernels::kMaxStepTokens, context_ - from);
  if (tokens.empty() || tokens.size() > most) {
    co_return base::fail(
        ErrorCode::kInvalidArgument,
        fmt::format("{} tokens are given behind {}, but 1 to {} are possible in a context of {}.",
                    tokens.size(), from, most, context_));
  }
  PUNA_CHECK(out.size() == tokens.size() * vocab_);
  PUNA_CO_TRY(co_await cache_->make_room(sequence, from + static_cast<uint32_t>(tokens.size())));
  plan::Step step;
  step.add(sequence, tokens, from);
  for (uint32_t row = 0; row < tokens.size(); ++row) step.output_rows.push_back(row);
  PUNA_CO_TRY(co_await executor_->run(std::move(step), out));
  for (size_t row = 0; row < tokens.size(); ++row) {
    if (kernels::can_choose(out.subspan(row * vocab_, vocab_))) continue;
    cache_->forget(sequence);
    co_return std::unexpected(co_await no_choice_at(from + row + 1));
  }
  cache_->append(sequence, tokens);
  co_return {};
}

}  // namespace puna::engine
