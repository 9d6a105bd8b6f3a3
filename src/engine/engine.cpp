#include "engine/engine.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/clock.h"
#include "base/log.h"
#include "engine/pooling.h"
#include "plan/fuse.h"

namespace puna::engine {

using base::ErrorCode;
using base::Result;
using base::Task;

namespace {

constexpr uint32_t kDefaultContext = 8192;

// Recurrent states: copies kept of a sequence's, and how many tokens before the end of a prompt one
// is made, so that another answer or a next message begins there.
constexpr uint32_t kSnapshotsEach = 4;
constexpr size_t kSnapshotTail = 16;

uint32_t round_up(uint32_t v, uint32_t to) { return (v + to - 1) / to * to; }

// The context to plan for: as asked, else the smaller of trained and kDefaultContext.
Result<uint32_t> choose_context(const models::Config& config,
                                const std::optional<uint32_t>& asked) {
  if (!asked) {
    const uint32_t usual = config.usual_context > 0 ? config.usual_context : kDefaultContext;
    return std::min({config.context, kDefaultContext, usual});
  }
  if (*asked == 0) return config.context;
  if (*asked > config.context) {
    return base::fail(
        ErrorCode::kInvalidArgument,
        fmt::format(
            "A context of {} tokens is asked for, but the model was trained with {}; --ctx 0 "
            "takes all of them.",
            *asked, config.context));
  }
  return *asked;
}

plan::Step make_step(uint32_t sequence, std::span<const int32_t> tokens, size_t first) {
  plan::Step step;
  step.tokens.assign(tokens.begin(), tokens.end());
  for (size_t i = 0; i < tokens.size(); ++i)
    step.positions.push_back(static_cast<int32_t>(first + i));
  step.sequences.assign(tokens.size(), sequence);
  return step;
}

}  // namespace

Task<Result<std::unique_ptr<Engine>>> Engine::load(formats::ModelFile file,
                                                   std::unique_ptr<gpu::Device> device,
                                                   EngineOptions options) {
  auto engine = std::unique_ptr<Engine>(new Engine());
  PUNA_CO_TRY_CONTEXT(engine->config_, models::read_config(file),
                      fmt::format("While loading {}", file.name));
  PUNA_CO_TRY(engine->context_, choose_context(engine->config_, options.context));
  engine->config_.planned_context = engine->context_;
  engine->pooling_ = models::pooling_of(engine->config_, options.pooling);
  PUNA_CO_TRY_CONTEXT(plan::Graph graph,
                      options.embeddings
                          ? models::build_embeddings(file, engine->config_, engine->pooling_)
                          : models::build(file, engine->config_),
                      fmt::format("While loading {}", file.name));
  if (graph.embeds && !options.embeddings) {
    co_return base::fail(
        ErrorCode::kUnsupported,
        fmt::format("The model {} gives embeddings, no text; puna embed computes them.",
                    file.name));
  }
  graph = plan::fuse(std::move(graph));
  engine->vocab_ = graph.vocab;
  engine->n_out_ = graph.n_out();

  plan::CacheConfig cache;
  cache.type = options.kv_type;
  cache.n_sequences = options.n_sequences;
  cache.pages_per_sequence =
      round_up(engine->context_, kernels::kPageTokens) / kernels::kPageTokens;
  cache.n_pages = cache.pages_per_sequence * options.n_sequences;
  if (!graph.states.empty()) {
    cache.n_snapshots = kSnapshotsEach * options.n_sequences;
    engine->snapshots_.emplace(options.n_sequences, kSnapshotsEach);
  }
  engine->kv_.emplace(cache);
  engine->cached_.resize(options.n_sequences);
  engine->file_ = std::move(file);
  engine->options_ = options;

  if (device) {
    engine->device_ = std::move(device);
    GpuOptions gpu_options;
    gpu_options.numerics = options.numerics;
    gpu_options.max_batch = options.n_sequences;
    PUNA_CO_TRY(engine->executor_, co_await load_gpu(engine->file_, std::move(graph), cache,
                                                     gpu_options, *engine->device_, options.hooks));
  } else {
    engine->pool_ = std::make_unique<base::ThreadPool>(options.n_threads);
    PUNA_CO_TRY(engine->executor_,
                co_await load_cpu(engine->file_, std::move(graph), cache, options.numerics,
                                  *engine->pool_, options.hooks));
  }
  co_return engine;
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

Result<void> Engine::make_room(uint32_t sequence, uint32_t n_tokens) {
  PUNA_TRY(const bool grown, kv_->grow(sequence, n_tokens));
  if (grown) PUNA_TRY(executor_->set_pages(sequence, kv_->pages(sequence)));
  return {};
}

Result<void> Engine::rewind(uint32_t sequence, uint32_t n_tokens) {
  std::vector<int32_t>& cached = cached_[sequence];
  if (cached.size() > n_tokens) {
    if (snapshots_) {
      const auto snapshot = snapshots_->rewind(sequence, n_tokens);
      n_tokens = snapshot ? snapshot->position : 0;
      if (snapshot) PUNA_TRY(executor_->restore_state(snapshot->slot, sequence));
    }
    cached.resize(n_tokens);
  }
  kv_->shrink(sequence, static_cast<uint32_t>(cached.size()));
  return {};
}

Result<void> Engine::keep(uint32_t sequence) {
  const auto position = static_cast<uint32_t>(cached_[sequence].size());
  if (!snapshots_ || position == 0) return {};
  return executor_->save_state(sequence, snapshots_->add(sequence, position));
}

Task<Result<void>> Engine::evaluate(uint32_t sequence, std::span<const int32_t> tokens,
                                    std::span<float> last, bool keeps) {
  PUNA_CO_TRY(make_room(sequence, static_cast<uint32_t>(tokens.size())));
  std::vector<int32_t>& cached = cached_[sequence];
  while (cached.size() < tokens.size()) {
    const size_t from = cached.size();
    const size_t left = tokens.size() - from;
    size_t n = std::min<size_t>(kernels::kMaxStepTokens, left);
    if (keeps && snapshots_ && n == left && left > kSnapshotTail) n = left - kSnapshotTail;
    plan::Step step = make_step(sequence, tokens.subspan(from, n), from);
    const bool wanted = from + n == tokens.size() && !last.empty();
    if (wanted) step.output_rows = {static_cast<uint32_t>(n - 1)};
    PUNA_CO_TRY(co_await executor_->run(std::move(step), wanted ? last : std::span<float>()));
    cached.insert(cached.end(), tokens.begin() + static_cast<ptrdiff_t>(from),
                  tokens.begin() + static_cast<ptrdiff_t>(from + n));
    if (keeps && n < left) PUNA_CO_TRY(keep(sequence));
  }
  co_return {};
}

Task<Result<void>> Engine::logits(std::vector<int32_t> tokens, std::span<float> out) {
  PUNA_CO_TRY(check_tokens(tokens));
  if (tokens.empty() || tokens.size() > context_) {
    co_return base::fail(ErrorCode::kInvalidArgument,
                         fmt::format("{} tokens are given, but 1 to {} (the context) are expected.",
                                     tokens.size(), context_));
  }
  PUNA_CO_TRY(forget(0));
  PUNA_CO_TRY(make_room(0, static_cast<uint32_t>(tokens.size())));
  for (size_t from = 0; from < tokens.size(); from += kernels::kMaxStepTokens) {
    const size_t n = std::min<size_t>(kernels::kMaxStepTokens, tokens.size() - from);
    plan::Step step = make_step(0, std::span(tokens).subspan(from, n), from);
    for (uint32_t row = 0; row < n; ++row) step.output_rows.push_back(row);
    PUNA_CO_TRY(co_await executor_->run(std::move(step), out.subspan(from * vocab_, n * vocab_)));
  }
  co_return forget(0);
}

Task<Result<std::vector<float>>> Engine::embed(std::vector<int32_t> tokens) {
  PUNA_CHECK(options_.embeddings);
  PUNA_CO_TRY(check_tokens(tokens));
  const auto n_tokens = static_cast<uint32_t>(tokens.size());
  if (n_tokens == 0 || n_tokens > context_) {
    co_return base::fail(
        ErrorCode::kInvalidArgument,
        fmt::format("A text of {} tokens is given, but 1 to {} (the context) are expected.",
                    n_tokens, context_));
  }
  if (!config_.causal && n_tokens > kernels::kMaxStepTokens) {
    co_return base::fail(
        ErrorCode::kUnsupported,
        fmt::format("A text of {} tokens is given; this model sees a text as a whole, and up to {} "
                    "tokens of it are supported.",
                    n_tokens, kernels::kMaxStepTokens));
  }
  PUNA_CO_TRY(forget(0));
  PUNA_CO_TRY(make_room(0, n_tokens));
  const Span wanted = rows_of(pooling_, config_.causal, n_tokens);
  std::vector<float> rows(size_t{wanted.end - wanted.begin} * n_out_);
  for (uint32_t from = 0; from < n_tokens; from += kernels::kMaxStepTokens) {
    const uint32_t n = std::min(kernels::kMaxStepTokens, n_tokens - from);
    plan::Step step = make_step(0, std::span(tokens).subspan(from, n), from);
    const uint32_t begin = std::max(wanted.begin, from), end = std::min(wanted.end, from + n);
    for (uint32_t t = begin; t < end; ++t) step.output_rows.push_back(t - from);
    const auto out = step.output_rows.empty()
                         ? std::span<float>()
                         : std::span(rows).subspan(size_t{begin - wanted.begin} * n_out_,
                                                   step.output_rows.size() * n_out_);
    PUNA_CO_TRY(co_await executor_->run(std::move(step), out));
  }
  PUNA_CO_TRY(forget(0));
  co_return pooled(pooling_, std::move(rows), n_out_);
}

Task<Result<GenerateStats>> Engine::generate(uint32_t sequence, std::vector<int32_t> prompt,
                                             GenerateOptions options,
                                             std::vector<int32_t> end_tokens, OnToken on_token) {
  PUNA_CO_TRY(check(options.sampling));
  PUNA_CO_TRY(check_tokens(prompt));
  if (prompt.empty())
    co_return base::fail(ErrorCode::kInvalidArgument, "The prompt has no tokens.");
  if (prompt.size() >= context_) {
    co_return base::fail(
        ErrorCode::kInvalidArgument,
        fmt::format(
            "The prompt has {} tokens, but the context holds {} and needs room for an answer.",
            prompt.size(), context_));
  }
  std::vector<int32_t>& cached = cached_[sequence];
  // Reuse the common prefix, but evaluate at least the last token: its logits choose the first new
  // one.
  size_t common = 0;
  while (common < cached.size() && common + 1 < prompt.size() && cached[common] == prompt[common])
    ++common;

  PUNA_CO_TRY(rewind(sequence, static_cast<uint32_t>(common)));
  common = cached.size();
  GenerateStats stats;
  stats.n_prompt = static_cast<uint32_t>(prompt.size() - common);
  stats.n_cached = static_cast<uint32_t>(common);
  const base::Timer timer;
  std::vector<float> logits(vocab_);
  PUNA_CO_TRY(co_await evaluate(sequence, prompt, logits));

  Sampler sampler(options.sampling);
  std::vector<int32_t> text = std::move(prompt);
  int32_t next = sampler.sample(logits, text);
  stats.prompt_ms = timer.ms();

  // Takes one chosen token; false when the text ends here.
  const auto take = [&](int32_t id) {
    if (options.cancel && options.cancel->load()) {
      stats.stop = StopReason::kCancelled;
      return false;
    }
    const bool end = std::find(end_tokens.begin(), end_tokens.end(), id) != end_tokens.end();
    if (end && !options.ignore_end) {
      stats.stop = StopReason::kEnd;
      return false;
    }
    text.push_back(id);
    ++stats.n_generated;
    if (!on_token(id)) {
      stats.stop = StopReason::kStopped;
      return false;
    }
    if (options.max_tokens && stats.n_generated >= *options.max_tokens) {
      stats.stop = StopReason::kLength;
      return false;
    }
    if (text.size() >= context_) {
      stats.stop = StopReason::kContext;
      return false;
    }
    return true;
  };

  const base::Timer decode_timer;
  if (options.max_tokens && *options.max_tokens == 0) {
    stats.stop = StopReason::kLength;
  } else if (take(next)) {
    if (options.sampling.greedy() && !options.sampling.penalized()) {
      const uint32_t room = context_ - static_cast<uint32_t>(text.size());
      const uint32_t n =
          options.max_tokens ? std::min(room, *options.max_tokens - stats.n_generated) : room;
      plan::Step step = make_step(sequence, std::span(&next, 1), text.size() - 1);
      step.output_rows = {0};
      // Pages are taken as the text grows, a chain of steps at a time.
      PUNA_CO_TRY(make_room(sequence, static_cast<uint32_t>(text.size()) + n));
      PUNA_CO_TRY(
          co_await executor_->run_greedy(std::move(step), n, [&](std::span<const int32_t> ids) {
            cached.push_back(text.back());
            return take(ids[0]);
          }));
    } else {
      do {
        PUNA_CO_TRY(co_await evaluate(sequence, text, logits));
        next = sampler.sample(logits, text);
      } while (take(next));
    }
  }
  kv_->shrink(sequence, static_cast<uint32_t>(cached.size()));
  stats.decode_ms = decode_timer.ms();
  co_return stats;
}

Task<Result<void>> Engine::bench_prefill(uint32_t n_tokens) {
  std::vector<int32_t> tokens = cached_[0];
  for (uint32_t i = 0; i < n_tokens; ++i)
    tokens.push_back(static_cast<int32_t>((i * 7919u + 1) % vocab_));
  std::vector<float> logits(vocab_);
  PUNA_CO_TRY(co_await evaluate(0, tokens, logits, /*keeps=*/false));
  co_return {};
}

Result<StepTimes> Engine::bench_step(uint32_t n_tokens) {
  const size_t depth = cached_[0].size();
  PUNA_TRY(make_room(0, static_cast<uint32_t>(depth) + n_tokens));
  const std::vector<int32_t> tokens(n_tokens, 1);
  plan::Step step = make_step(0, tokens, depth);
  step.output_rows = {n_tokens - 1};
  PUNA_TRY(keep(0));
  PUNA_TRY(StepTimes times, executor_->time_step(step));
  if (snapshots_ && depth > 0) {
    const auto before = snapshots_->rewind(0, static_cast<uint32_t>(depth));
    PUNA_TRY(executor_->restore_state(before->slot, 0));
  }
  return times;
}

Task<Result<void>> Engine::bench_decode(uint32_t n_tokens) {
  const size_t depth = cached_[0].size();
  PUNA_CO_TRY(make_room(0, static_cast<uint32_t>(depth) + n_tokens));
  const int32_t first = 1;
  plan::Step step = make_step(0, std::span(&first, 1), depth);
  step.output_rows = {0};
  PUNA_CO_TRY(co_await executor_->run_greedy(std::move(step), n_tokens,
                                             [](std::span<const int32_t>) { return true; }));
  cached_[0].resize(depth + n_tokens, 1);
  co_return {};
}

}  // namespace puna::engine
