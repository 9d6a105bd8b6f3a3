#include "engine/engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/check.h"
#include "base/clock.h"
#include "base/log.h"
#include "engine/blueprint.h"
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

// Places what `blueprint` says, with large steps if these pay and fit. Where it may have a shorter
// context, that becomes the first of half, a quarter, ... of it with which the device has room for
// all layers, if any has.
Task<Result<Placed>> place_fitting(const formats::ModelFile& file, Blueprint& blueprint,
                                   EngineOptions options, gpu::Device* device) {
  std::optional<Blueprint> large =
      with_large_steps(file, options, device ? &device->info() : nullptr);
  if (large) {
    auto placed = co_await place(file, large->graph, large->cache, place_whole(options), device,
                                 options.hooks);
    if (placed) blueprint = *std::move(large);
    if (placed || placed.error().code != ErrorCode::kOutOfMemory) co_return placed;
  }
  const std::optional<uint32_t> least = options.fit.least_context;
  const bool shortens = least && device && !options.context && !options.gpu_layers;
  while (shortens && blueprint.context > *least) {
    PlaceOptions whole = place_options(options);
    whole.fit.layers = false;
    auto placed =
        co_await place(file, blueprint.graph, blueprint.cache, whole, device, options.hooks);
    if (placed || placed.error().code != ErrorCode::kOutOfMemory) co_return placed;
    options.context = std::max(*least, blueprint.context / 2);
    base::log_info("The context becomes {} tokens, where {} do not fit: {}", *options.context,
                   blueprint.context, placed.error().text());
    PUNA_CO_TRY(blueprint, make_blueprint(file, options));
  }
  co_return co_await place(file, std::move(blueprint.graph), blueprint.cache,
                           place_options(options), device, options.hooks);
}

}  // namespace

Task<Result<std::unique_ptr<Engine>>> Engine::load(formats::ModelFile file,
                                                   std::shared_ptr<gpu::Device> device,
                                                   EngineOptions options) {
  if (options.check_weights) PUNA_CO_TRY(co_await check_weights(file, options.hooks.cancel));
  PUNA_CO_TRY(Blueprint blueprint, make_blueprint(file, options));
  auto engine = std::unique_ptr<Engine>(new Engine());
  engine->vocab_ = blueprint.graph.vocab;
  engine->n_out_ = blueprint.graph.n_out();
  engine->file_ = std::move(file);
  engine->options_ = options;
  engine->options_.hooks = {};
  engine->device_ = std::move(device);
  PUNA_CO_TRY(Placed placed,
              co_await place_fitting(engine->file_, blueprint, options, engine->device_.get()));
  engine->config_ = std::move(blueprint.config);
  engine->context_ = blueprint.context;
  engine->pooling_ = blueprint.pooling;
  engine->recurrent_ = blueprint.recurrent;
  engine->window_ = blueprint.window;
  engine->media_ = blueprint.media;
  engine->step_tokens_ = blueprint.step_tokens;
  engine->pool_ = std::move(placed.pool);
  engine->executor_ = std::move(placed.executor);
  engine->placement_ = std::move(placed.placement);
  engine->begin(blueprint.cache);
  co_return engine;
}

Result<Placement> Engine::forecast(const formats::ModelFile& file, const EngineOptions& options,
                                   const gpu::DeviceInfo* device,
                                   std::optional<uint64_t> gpu_bytes) {
  const std::optional<Blueprint> large = with_large_steps(file, options, device);
  if (large) {
    auto out =
        engine::forecast(large->graph, large->cache, place_whole(options), device, gpu_bytes);
    if (out || out.error().code != ErrorCode::kOutOfMemory) return out;
  }
  PUNA_TRY(const Blueprint blueprint, make_blueprint(file, options));
  return engine::forecast(blueprint.graph, blueprint.cache, place_options(options), device,
                          gpu_bytes);
}

std::unique_ptr<Engine> Engine::around(std::unique_ptr<Executor> executor, models::Config config,
                                       plan::CacheConfig cache, bool recurrent,
                                       EngineOptions options, uint32_t window) {
  auto engine = std::unique_ptr<Engine>(new Engine());
  engine->context_ = cache.context();
  engine->vocab_ = engine->n_out_ = config.vocab;
  engine->config_ = std::move(config);
  engine->options_ = std::move(options);
  engine->options_.hooks = {};
  engine->options_.n_sequences = cache.n_sequences;
  engine->recurrent_ = recurrent;
  engine->window_ = window;
  engine->step_tokens_ = engine->options_.step_tokens.value_or(kernels::kMaxStepTokens);
  engine->executor_ = std::move(executor);
  engine->begin(cache);
  return engine;
}

void Engine::begin(const plan::CacheConfig& cache) {
  step_rows_ = cache.step_rows;
  cache_.emplace(cache, recurrent_, window_, options_.host_cache_bytes, *executor_);
  budget_.emplace(guess_ms_per_token(file_, options_, device_ != nullptr, n_threads()));
}

uint32_t Engine::step_tokens(size_t n_left) const {
  constexpr double kMostMs = 300;
  if (!budget_->is_known()) return kernels::kMaxStepTokens;
  const auto most =
      static_cast<uint32_t>(std::min<size_t>(n_left, budget_->tokens(kMostMs, step_tokens_)));
  return most < kLargeStepTokens / 2 ? kernels::kMaxStepTokens : most;
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

Result<void> Engine::check_tokens(std::span<const int32_t> tokens, size_t first,
                                  std::span<const Prompt::Span> media) const {
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i] >= 0 || !span_at(media, first + i)) PUNA_TRY(check_tokens(tokens.subspan(i, 1)));
  }
  return {};
}

Result<void> Engine::check_media(std::span<const Prompt::Span> spans) const {
  // Beside the next tokens of the other texts.
  const uint32_t most_both_ways = step_rows_ - n_beside_media(options_);
  for (const Prompt::Span& span : spans) {
    const Media& media = *span.media;
    const auto refuse = [&](ErrorCode code, std::string_view why) {
      return base::fail(code, fmt::format("The media at token {} {}.", span.first, why));
    };
    if (!options_.media) {
      return base::fail(ErrorCode::kUnsupported,
                        "The prompt has media, but the model was loaded for text alone.");
    }
    if (media.rows.size() != size_t{media.n_rows} * media_.width) {
      return refuse(ErrorCode::kInvalidArgument,
                    fmt::format("has {} rows of {} values, but the model reads {}", media.n_rows,
                                media.width(), media_.width));
    }
    if (media.grid_columns > 0 && (!media_.grids || media.n_rows % media.grid_columns != 0)) {
      return refuse(
          media_.grids ? ErrorCode::kInvalidArgument : ErrorCode::kUnsupported,
          media_.grids
              ? fmt::format("has {} rows, which are no grid of {} columns", media.n_rows,
                            media.grid_columns)
              : std::string("stands on a grid, but the positions of the model have no rows and "
                            "columns"));
    }
    if (!media.both_ways) continue;
    if (!media_.both_ways) {
      return refuse(ErrorCode::kUnsupported,
                    "has rows that attend to those behind them, which the model does not have");
    }
    if (media.n_rows > most_both_ways) {
      return refuse(ErrorCode::kInvalidArgument,
                    fmt::format("has {} rows that attend to each other, but at most {} are "
                                "evaluated at once beside other texts",
                                media.n_rows, most_both_ways));
    }
  }
  return {};
}

Result<void> Engine::check_prompt(const Prompt& prompt) const {
  PUNA_TRY(check_media(prompt.spans()));
  PUNA_TRY(check_tokens(prompt.tokens(), 0, prompt.spans()));
  const size_t n_tokens = prompt.tokens().size();
  if (n_tokens == 0) return base::fail(ErrorCode::kInvalidArgument, "The prompt has no tokens.");
  if (n_tokens < context_) return {};
  auto error = base::fail(
      ErrorCode::kInvalidArgument,
      fmt::format("The prompt has {} tokens, but the context holds {} and needs room for an "
                  "answer{}.",
                  n_tokens, context_,
                  context_ < config_.context
                      ? fmt::format("; the model was trained with a context of {}", config_.context)
                      : ""));
  error.error().excess = base::Excess{.n = n_tokens, .n_room = context_};
  return error;
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

Task<base::Error> Engine::no_choice(uint32_t sequence, const std::atomic<bool>* cancel) {
  const uint32_t position = cache_->n_tokens(sequence);
  cache_->forget(sequence);
  co_return co_await no_choice_at(position, cancel);
}

Task<base::Error> Engine::no_numbers(std::string what, const std::atomic<bool>* cancel) {
  const bool widest =
      options_.numerics == kernels::Numerics::kExact && options_.kv_type == kernels::KvType::kF32;
  return no_numbers_.explain(file_, std::move(what), widest, cancel);
}

Task<base::Error> Engine::no_choice_at(size_t position, const std::atomic<bool>* cancel) {
  return no_numbers(
      fmt::format(
          "No token can be chosen at position {}: its logits hold NaN or +inf, or nothing but -inf",
          position),
      cancel);
}

Result<void> check_cancel(const std::atomic<bool>* cancel) {
  if (!cancel || !*cancel) return {};
  return base::fail(ErrorCode::kCancelled, "Evaluating was interrupted.");
}

Task<Result<void>> Engine::prefill(uint32_t sequence, std::vector<int32_t> tokens,
                                   const std::atomic<bool>* cancel) {
  PUNA_CO_TRY(check_tokens(tokens));
  for (std::span<const int32_t> left = tokens; !left.empty();) {
    PUNA_CO_TRY(check_cancel(cancel));
    const auto part = left.first(std::min<size_t>(step_tokens(left.size()), left.size()));
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

Task<Result<void>> Engine::logits(uint32_t sequence, Prompt prompt, std::span<float> out,
                                  const std::atomic<bool>* cancel) {
  const std::vector<int32_t>& tokens = prompt.tokens();
  if (tokens.empty() || tokens.size() > context_) {
    co_return base::fail(ErrorCode::kInvalidArgument,
                         fmt::format("{} tokens are given, but 1 to {} (the context) are expected.",
                                     tokens.size(), context_));
  }
  PUNA_CO_TRY(check_media(prompt.spans()));
  PUNA_CO_TRY(check_tokens(tokens, 0, prompt.spans()));
  Result<void> done;
  for (size_t from = 0, n = 0; done && from < tokens.size(); from += n) {
    done = check_cancel(cancel);
    if (!done) break;
    const size_t most = std::min<size_t>(from + kernels::kMaxStepTokens, tokens.size());
    n = whole_end(prompt.spans(), from, most) - from;
    const std::span<const int32_t> part = std::span(tokens).subspan(from, n);
    done = co_await logits_of_step(sequence, {part.begin(), part.end()}, prompt.spans(),
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
  co_return co_await logits_of_step(sequence, std::move(tokens), {}, out);
}

Task<Result<void>> Engine::logits_of_step(uint32_t sequence, std::vector<int32_t> tokens,
                                          std::span<const Prompt::Span> media,
                                          std::span<float> out) {
  const uint32_t from = cache_->n_tokens(sequence);
  PUNA_CHECK(out.size() == tokens.size() * vocab_);
  PUNA_CO_TRY(co_await cache_->make_room(sequence, from + static_cast<uint32_t>(tokens.size())));
  plan::Step step;
  add_rows(step, sequence, tokens, from, media, media_.windowed);
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
