#include "engine/engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/check.h"
#include "base/clock.h"
#include "engine/no_numbers.h"
#include "engine/pooling.h"
#include "kernels/sample/sample.h"
#include "kernels/sample/sample_cpu.h"

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

// Chunks of a prompt where others want a turn: the first, before its speed is known, and the
// smallest.
constexpr uint32_t kFirstTurn = 32;
constexpr uint32_t kLeastTurn = 16;

uint32_t round_up(uint32_t v, uint32_t to) { return (v + to - 1) / to * to; }

// The context to plan for: as asked, else kDefaultContext or what is wanted, up to the trained one.
Result<uint32_t> choose_context(const models::Config& config, const EngineOptions& options) {
  const std::optional<uint32_t>& asked = options.context;
  if (!asked) {
    const uint32_t usual = config.usual_context > 0 ? config.usual_context : kDefaultContext;
    return std::min(config.context,
                    std::max(std::min(kDefaultContext, usual), options.wanted_context));
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

// Adds tokens of a sequence, the first at position `first`.
void add_rows(plan::Step& step, uint32_t sequence, std::span<const int32_t> tokens, size_t first) {
  step.tokens.insert(step.tokens.end(), tokens.begin(), tokens.end());
  for (size_t i = 0; i < tokens.size(); ++i)
    step.positions.push_back(static_cast<int32_t>(first + i));
  step.sequences.insert(step.sequences.end(), tokens.size(), sequence);
}
plan::Step make_step(uint32_t sequence, std::span<const int32_t> tokens, size_t first) {
  plan::Step step;
  add_rows(step, sequence, tokens, first);
  return step;
}

void append(std::vector<int32_t>& to, std::span<const int32_t> tokens) {
  to.insert(to.end(), tokens.begin(), tokens.end());
}

}  // namespace

Task<Result<std::unique_ptr<Engine>>> Engine::load(formats::ModelFile file,
                                                   std::unique_ptr<gpu::Device> device,
                                                   EngineOptions options) {
  auto engine = std::unique_ptr<Engine>(new Engine());
  PUNA_CO_TRY_CONTEXT(engine->config_, models::read_config(file),
                      fmt::format("While loading {}", file.name));
  PUNA_CO_TRY(engine->context_, choose_context(engine->config_, options));
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

  if (options.turn_ms > 0) engine->chunk_ = kFirstTurn;
  engine->device_ = std::move(device);
  PlaceOptions place_options;
  place_options.gpu_layers = options.gpu_layers;
  place_options.n_threads = options.n_threads;
  place_options.cpu = {options.numerics, options.lock_memory, options.give_way};
  place_options.gpu = {options.numerics, options.n_sequences, options.all_logits, options.chain_ms,
                       engine->options_.profile.get()};
  PUNA_CO_TRY(Placed placed, co_await place(engine->file_, std::move(graph), cache, place_options,
                                            engine->device_.get(), options.hooks));
  engine->pool_ = std::move(placed.pool);
  engine->executor_ = std::move(placed.executor);
  engine->placement_ = std::move(placed.placement);
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

Result<void> Engine::check_batch(std::span<const BatchRow> rows, uint32_t n_steps) const {
  const auto refuse = [](std::string why) {
    return base::fail(ErrorCode::kInvalidArgument, std::move(why));
  };
  if (rows.empty() || rows.size() > kernels::kMaxBatch) {
    return refuse(fmt::format("A batch has {} rows, but 1 to {} are possible.", rows.size(),
                              kernels::kMaxBatch));
  }
  size_t n_tokens = 0;
  std::vector<bool> taken(cached_.size());
  for (const BatchRow& row : rows) {
    PUNA_TRY(check_sampling(row.sampling));
    PUNA_TRY(check_tokens(row.tokens));
    if (row.sequence >= cached_.size()) {
      return refuse(fmt::format("There is no sequence {}; the engine was loaded with {}.",
                                row.sequence, cached_.size()));
    }
    if (taken[row.sequence])
      return refuse(fmt::format("Sequence {} is in a batch twice.", row.sequence));
    taken[row.sequence] = true;
    if (row.tokens.empty())
      return refuse(fmt::format("Sequence {} goes on with no tokens.", row.sequence));
    n_tokens += row.tokens.size();
    const size_t end = cached_[row.sequence].size() + row.tokens.size() + n_steps;
    if (n_steps == 0 || end - 1 > context_) {
      return refuse(
          fmt::format("Sequence {} would have {} tokens after {} steps, but the context holds {}.",
                      row.sequence, end, n_steps, context_));
    }
  }
  if (n_tokens <= kernels::kMaxStepTokens) return {};
  return refuse(fmt::format("A batch has {} tokens, but a step takes at most {}.", n_tokens,
                            kernels::kMaxStepTokens));
}

Task<Result<void>> Engine::decode(std::vector<BatchRow> rows, uint32_t n_steps, OnIds on_ids) {
  PUNA_CO_TRY(check_batch(rows, n_steps));
  plan::Step step;
  std::vector<OutputSampling> outputs;
  for (const BatchRow& row : rows) {
    const std::vector<int32_t>& cached = cached_[row.sequence];
    add_rows(step, row.sequence, row.tokens, cached.size());
    step.output_rows.push_back(step.n_tokens() - 1);
    PUNA_CO_TRY(make_room(row.sequence,
                          static_cast<uint32_t>(cached.size() + row.tokens.size()) + n_steps - 1));
    OutputSampling& output = outputs.emplace_back(OutputSampling{row.sampling, {}});
    if (!row.sampling.penalized()) continue;
    output.text = cached;
    append(output.text, row.tokens);
  }
  std::optional<size_t> undecided;  // a row for which no token can be chosen
  auto done = co_await executor_->decode(
      std::move(step), std::move(outputs), n_steps, [&](std::span<const int32_t> ids) {
        const auto none = std::ranges::find(ids, kernels::kNoToken);
        if (none != ids.end()) {
          undecided = none - ids.begin();
          return false;
        }
        for (size_t i = 0; i < rows.size(); ++i) {
          append(cached_[rows[i].sequence], rows[i].tokens);
          rows[i].tokens = {ids[i]};
        }
        return on_ids(ids);
      });
  if (done && undecided) {
    const BatchRow& row = rows[*undecided];
    const size_t position = cached_[row.sequence].size() + row.tokens.size();
    PUNA_CO_TRY(forget(row.sequence));
    done = std::unexpected(co_await no_choice(position));
  }
  for (const BatchRow& row : rows) kv_->shrink(row.sequence, n_cached(row.sequence));
  co_return done;
}

Task<base::Error> Engine::no_numbers(std::string what) const {
  const bool widest =
      options_.numerics == kernels::Numerics::kExact && options_.kv_type == kernels::KvType::kF32;
  return explain_no_numbers(file_, std::move(what), widest, options_.hooks.cancel);
}

Task<base::Error> Engine::no_choice(size_t position) const {
  return no_numbers(fmt::format(
      "No token can be chosen at position {}: its logits hold NaN or +inf, or nothing but -inf",
      position));
}

Task<Result<uint32_t>> Engine::prefill_chunk(uint32_t sequence, std::span<const int32_t> tokens,
                                             bool keeps) {
  size_t n = std::min<size_t>(chunk_, tokens.size());
  if (keeps && snapshots_ && n == tokens.size() && n > kSnapshotTail) n -= kSnapshotTail;
  if (n == tokens.size()) co_return 0;
  const base::Timer since;
  std::vector<int32_t>& cached = cached_[sequence];
  PUNA_CO_TRY(make_room(sequence, static_cast<uint32_t>(cached.size() + n)));
  PUNA_CO_TRY(co_await executor_->run(make_step(sequence, tokens.first(n), cached.size()), {}));
  append(cached, tokens.first(n));
  if (keeps) PUNA_CO_TRY(keep(sequence));
  if (options_.turn_ms > 0) PUNA_CO_TRY(co_await take_turns(static_cast<uint32_t>(n), since));
  co_return static_cast<uint32_t>(n);
}

Task<Result<std::vector<int32_t>>> Engine::prefill_all_but_last(uint32_t sequence,
                                                                std::vector<int32_t> tokens,
                                                                bool keeps) {
  std::span<const int32_t> left = tokens;
  for (;;) {
    PUNA_CO_TRY(const uint32_t n, co_await prefill_chunk(sequence, left, keeps));
    if (n == 0) co_return std::vector<int32_t>(left.begin(), left.end());
    left = left.subspan(n);
  }
}

Task<Result<void>> Engine::take_turns(uint32_t n_tokens, const base::Timer& since) {
  PUNA_CO_TRY(co_await executor_->rest());
  const double fit = n_tokens * options_.turn_ms / std::max(since.ms(), 0.01);
  // By halves and doubles: one slow step says little.
  const double next = std::clamp(fit, chunk_ * 0.5, chunk_ * 2.0);
  chunk_ = std::clamp(static_cast<uint32_t>(next) / kLeastTurn * kLeastTurn, kLeastTurn,
                      kernels::kMaxStepTokens);
  co_return {};
}

Task<Result<void>> Engine::logits(std::vector<int32_t> tokens, std::span<float> out) {
  if (tokens.empty() || tokens.size() > context_) {
    co_return base::fail(ErrorCode::kInvalidArgument,
                         fmt::format("{} tokens are given, but 1 to {} (the context) are expected.",
                                     tokens.size(), context_));
  }
  PUNA_CO_TRY(check_tokens(tokens));
  PUNA_CO_TRY(forget(0));
  for (size_t from = 0; from < tokens.size(); from += kernels::kMaxStepTokens) {
    const size_t n = std::min<size_t>(kernels::kMaxStepTokens, tokens.size() - from);
    const std::span<const int32_t> part = std::span(tokens).subspan(from, n);
    PUNA_CO_TRY(co_await logits_behind(0, {part.begin(), part.end()},
                                       out.subspan(from * vocab_, n * vocab_)));
  }
  co_return forget(0);
}

Task<Result<void>> Engine::logits_behind(uint32_t sequence, std::vector<int32_t> tokens,
                                         std::span<float> out) {
  PUNA_CO_TRY(check_tokens(tokens));
  std::vector<int32_t>& cached = cached_[sequence];
  const size_t most = std::min<size_t>(kernels::kMaxStepTokens, context_ - cached.size());
  if (tokens.empty() || tokens.size() > most) {
    co_return base::fail(
        ErrorCode::kInvalidArgument,
        fmt::format("{} tokens are given behind {}, but 1 to {} are possible in a context of {}.",
                    tokens.size(), cached.size(), most, context_));
  }
  PUNA_CHECK(out.size() == tokens.size() * vocab_);
  PUNA_CO_TRY(make_room(sequence, static_cast<uint32_t>(cached.size() + tokens.size())));
  plan::Step step = make_step(sequence, tokens, cached.size());
  for (uint32_t row = 0; row < tokens.size(); ++row) step.output_rows.push_back(row);
  PUNA_CO_TRY(co_await executor_->run(std::move(step), out));
  for (size_t row = 0; row < tokens.size(); ++row) {
    if (kernels::can_choose(out.subspan(row * vocab_, vocab_))) continue;
    const size_t position = cached.size() + row + 1;
    PUNA_CO_TRY(forget(sequence));
    co_return std::unexpected(co_await no_choice(position));
  }
  append(cached, tokens);
  co_return {};
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
  const auto bad = std::ranges::find_if(rows, [](float v) { return !std::isfinite(v); });
  if (bad != rows.end()) {
    const auto row = static_cast<uint32_t>((bad - rows.begin()) / n_out_);
    co_return std::unexpected(co_await no_numbers(
        fmt::format("The embedding at position {} holds {}", wanted.begin + row, *bad)));
  }
  co_return pooled(pooling_, std::move(rows), n_out_);
}

Task<Result<void>> Engine::prefill(uint32_t sequence, std::vector<int32_t> tokens) {
  PUNA_CO_TRY(check_tokens(tokens));
  std::vector<int32_t>& cached = cached_[sequence];
  PUNA_CO_TRY(make_room(sequence, static_cast<uint32_t>(cached.size() + tokens.size())));
  PUNA_CO_TRY(tokens, co_await prefill_all_but_last(sequence, std::move(tokens)));
  if (tokens.empty()) co_return {};
  PUNA_CO_TRY(co_await executor_->run(make_step(sequence, tokens, cached.size()), {}));
  append(cached, tokens);
  co_return {};
}

Task<Result<void>> Engine::bench_prefill(uint32_t n_tokens) {
  std::vector<int32_t> tokens;
  for (uint32_t i = 0; i < n_tokens; ++i)
    tokens.push_back(static_cast<int32_t>(((n_cached(0) + i) * 7919u + 1) % vocab_));
  PUNA_CO_TRY(tokens, co_await prefill_all_but_last(0, std::move(tokens), /*keeps=*/false));
  std::vector<BatchRow> rows = {{0, std::move(tokens), {.temperature = 0}}};
  co_return co_await decode(std::move(rows), 1, [](std::span<const int32_t>) { return true; });
}

Result<kernels::Ceilings> Engine::bench_ceilings() {
  return device_ ? kernels::measure_ceilings(*device_) : kernels::measure_ceilings(*pool_);
}

Result<StepTimes> Engine::bench_step(uint32_t n_tokens, const kernels::SamplingParams& sampling) {
  PUNA_TRY(make_room(0, n_cached(0) + n_tokens));
  const std::vector<int32_t> tokens(n_tokens, 1);
  plan::Step step = make_step(0, tokens, n_cached(0));
  step.output_rows = {n_tokens - 1};
  PUNA_TRY(keep(0));
  PUNA_TRY(StepTimes times, executor_->time_step(step, sampling));
  if (snapshots_ && n_cached(0) > 0) {
    const auto before = snapshots_->rewind(0, n_cached(0));
    PUNA_TRY(executor_->restore_state(before->slot, 0));
  }
  return times;
}

Task<Result<void>> Engine::bench_decode(uint32_t n_tokens, kernels::SamplingParams sampling,
                                        ChooseOn where) {
  if (where == ChooseOn::kDevice) {
    std::vector<BatchRow> rows = {{0, {1}, std::move(sampling)}};
    co_return co_await decode(std::move(rows), n_tokens,
                              [](std::span<const int32_t>) { return true; });
  }
  PUNA_CO_TRY(make_room(0, n_cached(0) + n_tokens));
  std::vector<int32_t>& cached = cached_[0];
  std::vector<float> logits(vocab_);
  kernels::CpuSampler sampler;
  int32_t id = 1;
  for (uint32_t i = 0; i < n_tokens; ++i) {
    plan::Step step = make_step(0, std::span(&id, 1), cached.size());
    step.output_rows = {0};
    PUNA_CO_TRY(co_await executor_->run(std::move(step), logits));
    cached.push_back(id);
    id = sampler.sample(sampling, logits, cached, n_cached(0));
    if (id == kernels::kNoToken) co_return std::unexpected(co_await no_choice(cached.size()));
  }
  co_return {};
}

}  // namespace puna::engine
