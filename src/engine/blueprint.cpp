#include "engine/blueprint.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "engine/window_slots.h"
#include "kernels/sample/sample.h"
#include "plan/media.h"

namespace puna::engine {

using base::ErrorCode;
using base::Result;

namespace {

constexpr uint32_t kDefaultContext = 8192;

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

// Pages for what texts may take together. Those to embed are evaluated a step at a time.
Result<uint32_t> choose_pages(uint32_t context, const EngineOptions& options) {
  const uint64_t most = uint64_t{context} * options.n_sequences;
  const uint64_t of_step = std::max(context, kernels::kMaxStepTokens) +
                           uint64_t{options.n_sequences} * kernels::kPageTokens;
  const uint64_t tokens =
      options.cache_tokens.value_or(options.embeddings ? std::min(most, of_step) : most);
  if (tokens < context) {
    return base::fail(
        ErrorCode::kInvalidArgument,
        fmt::format("A cache of {} tokens is asked for, but one text may have {} (the context).",
                    tokens, context));
  }
  const uint64_t pages = kernels::pages_for(tokens);
  if (pages <= UINT32_MAX) return static_cast<uint32_t>(pages);
  return base::fail(ErrorCode::kInvalidArgument,
                    fmt::format("A cache of {} tokens is asked for; that is too many.", tokens));
}

// Pages of layers with windows: none of their own where they would not be much fewer. In a page
// texts are kept whole.
Result<uint32_t> choose_window_pages(uint32_t window, uint32_t n_pages, uint32_t step_rows,
                                     const EngineOptions& options) {
  if (window == 0 || options.turn_ms > 0 || options.embeddings) return 0;
  const uint64_t least = n_window_pages_at_once(window, step_rows);
  uint64_t pages = least * options.n_sequences + kernels::pages_for(kDefaultContext);
  if (options.window_cache_tokens) {
    pages = kernels::pages_for(*options.window_cache_tokens);
    if (pages < least) {
      return base::fail(
          ErrorCode::kInvalidArgument,
          fmt::format("A cache of {} tokens is asked for layers with windows, but one "
                      "text may need {}.",
                      *options.window_cache_tokens, least * kernels::kPageTokens));
    }
  }
  return pages < n_pages ? static_cast<uint32_t>(pages) : 0;
}

// Media whose rows attend to each other stand in one step, beside the next tokens of other texts.
Result<uint32_t> choose_step_rows(const EngineOptions& options) {
  const uint64_t rows = uint64_t{options.media_rows} + n_beside_media(options);
  if (rows <= kernels::kMaxStepTokens) return kernels::kMaxStepTokens;
  if (rows <= kernels::kStepRoom)
    return static_cast<uint32_t>(kernels::pages_for(rows) * kernels::kPageTokens);
  return base::fail(ErrorCode::kInvalidArgument,
                    fmt::format("Media of {} rows that attend to each other are asked for; at most "
                                "{} are evaluated at once beside other texts.",
                                options.media_rows, kernels::kStepRoom - n_beside_media(options)));
}

MediaKinds kinds_of(const plan::Graph& graph) {
  MediaKinds out{.width = graph.media_columns};
  for (const plan::Op& op : graph.ops) {
    if (const auto* rope = std::get_if<plan::RopeOp>(&op)) out.grids |= rope->rope.sections.any();
    const auto* attention = std::get_if<plan::AttentionOp>(&op);
    if (!attention) continue;
    out.both_ways |= attention->around;
    // Gemma 4, whose layers without windows are causal.
    out.windowed |= !attention->around;
  }
  return out;
}

}  // namespace

Result<Blueprint> make_blueprint(const formats::ModelFile& file, const EngineOptions& options) {
  const std::string loading = fmt::format("While loading {}", file.name);
  Blueprint out;
  PUNA_TRY_CONTEXT(out.config, models::read_config(file), loading);
  PUNA_TRY(out.context, choose_context(out.config, options));
  out.config.planned_context = out.context;
  out.step_tokens = options.step_tokens.value_or(kernels::kMaxStepTokens);
  PUNA_CHECK(out.step_tokens >= kernels::kMaxStepTokens && out.step_tokens <= kLargeStepTokens);
  out.config.media = options.media;
  out.pooling = models::pooling_of(out.config, options.pooling);
  PUNA_TRY_CONTEXT(out.graph,
                   options.embeddings ? models::build_embeddings(file, out.config, out.pooling)
                                      : models::build(file, out.config),
                   loading);
  if (out.graph.embeds && !options.embeddings) {
    return base::fail(
        ErrorCode::kUnsupported,
        fmt::format("The model {} gives embeddings, no text; puna embed computes them.",
                    file.name));
  }
  if (options.media) {
    PUNA_TRY_CONTEXT(out.graph, plan::take_media(std::move(out.graph)), loading);
    out.media = kinds_of(out.graph);
  }
  out.cache.step_rows = out.step_tokens;
  if (out.media.both_ways) {
    PUNA_TRY(const uint32_t rows, choose_step_rows(options));
    out.cache.step_rows = std::max(out.cache.step_rows, rows);
  }
  out.recurrent = !out.graph.states.empty();
  out.cache.type = options.kv_type;
  out.cache.n_sequences = options.n_sequences;
  out.cache.pages_per_sequence = static_cast<uint32_t>(kernels::pages_for(out.context));
  PUNA_TRY(out.cache.n_pages, choose_pages(out.context, options));
  uint32_t window = 0;
  for (const plan::KvSpec& layer : out.graph.kv) window = std::max(window, layer.window);
  PUNA_TRY(out.cache.n_window_pages,
           choose_window_pages(window, out.cache.n_pages, out.cache.step_rows, options));
  if (out.cache.n_window_pages > 0) out.window = window;
  if (out.recurrent) out.cache.n_snapshots = options.states_each * options.n_sequences;
  return out;
}

uint32_t n_beside_media(const EngineOptions& options) {
  return std::min(options.n_sequences, kernels::kMaxBatch) - 1;
}

std::optional<Blueprint> with_large_steps(const formats::ModelFile& file, EngineOptions options,
                                          const gpu::DeviceInfo* device) {
  const bool whole = !options.gpu_layers && options.cpu_experts.value_or(0) == 0 &&
                     options.more_gpus.shares.empty();
  const bool writes = !options.embeddings && !options.all_logits && options.turn_ms == 0;
  if (!device || device->matrix.m == 0 || options.step_tokens || !whole || !writes)
    return std::nullopt;
  options.step_tokens = kLargeStepTokens;
  auto out = make_blueprint(file, options);
  // Each text would have a large step's pages of layers with windows.
  if (!out || out->cache.n_window_pages > 0) return std::nullopt;
  if (uint64_t{out->cache.n_pages} * kernels::kPageTokens < kLargeStepTokens) return std::nullopt;
  return *std::move(out);
}

PlaceOptions place_whole(const EngineOptions& options) {
  PlaceOptions out = place_options(options);
  out.fit.layers = false;
  out.more_gpus = {};
  return out;
}

PlaceOptions place_options(const EngineOptions& options) {
  PlaceOptions out;
  out.gpu_layers = options.gpu_layers;
  out.cpu_experts = options.cpu_experts;
  out.fit = options.fit;
  out.more_gpus = options.more_gpus;
  out.n_threads = options.n_threads;
  out.threads = options.threads;
  out.cpu = {options.numerics, options.lock_memory, options.give_way};
  const uint64_t max_batch = uint64_t{options.n_sequences} * (1 + uint64_t{options.n_drafts});
  out.gpu = {
      options.numerics,   static_cast<uint32_t>(std::min<uint64_t>(max_batch, kernels::kMaxBatch)),
      options.all_logits, /*short_prompts=*/options.turn_ms == 0,
      options.chain_ms,   options.profile.get()};
  return out;
}

}  // namespace puna::engine
