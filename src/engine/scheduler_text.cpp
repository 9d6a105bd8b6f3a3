#include "engine/scheduler_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace puna::engine {
namespace {

// Of the last token, in the share of those behind which some were forced.
constexpr double kForcedWeight = 0.125;

}  // namespace

void Scheduler::Text::take(const kernels::Chosen& one, uint32_t least) {
  if (!std::exchange(chosen, true)) {
    tell(n_prompt);
    stats.prompt_ms = timer.ms();
    timer = {};
  }
  if (cancelled()) return;
  add(one);
  const size_t n = tokens.size();
  if (!ended) follow_filter(least);
  forced_share += kForcedWeight * ((tokens.size() > n ? 1 : 0) - forced_share);
}

void Scheduler::Text::tell(size_t n_evaluated) {
  const auto n_read = static_cast<uint32_t>(std::min(n_evaluated, n_prompt));
  if (!options.on_prompt || n_told >= n_read) return;
  n_told = n_read;
  options.on_prompt({.n_tokens = static_cast<uint32_t>(n_prompt),
                     .n_cached = stats.n_cached,
                     .n_read = n_read,
                     .ms = timer.ms()});
}

void Scheduler::Text::follow_filter(uint32_t least) {
  if (!filter) return;
  ++n_steady;
  while (!ended && !filter->done()) {
    std::vector<int32_t> forced = filter->forced();
    if (forced.empty()) break;
    n_steady = 0;
    // Probabilities are of the logits of a step.
    const bool at_once = forced.size() >= least && options.sampling.n_probs == 0;
    // Biases have no say in what is no choice, but steps would ask them.
    const bool biased = std::ranges::any_of(
        forced, [this](int32_t id) { return std::ranges::find(ruled_out, id) != ruled_out.end(); });
    if (!at_once && !biased) {
      if (filter->paced().empty()) filter->pace(std::move(forced));
      return;
    }
    for (const int32_t id : forced) {
      if (!ended) add({.id = id, .logprob = {}, .top = {}});
    }
  }
  if (ended) return;
  if (filter->done()) return end(StopReason::kEnd);
  const auto now = filter->allowed();
  if (allows_any(now, ruled_out)) return remember(now);
  end(StopReason::kEnd);
  if (filter->may_end()) return;
  const bool by_biases = allows_any(now);
  if (!by_biases) error = filter->error();
  if (error) return;
  error.emplace(
      base::ErrorCode::kInvalidArgument,
      fmt::format("The filter of the text allows no token at position {}{}, where the "
                  "text may not end.",
                  tokens.size(), by_biases ? " but those that its logit biases rule out" : ""));
}

void Scheduler::Text::remember(const std::optional<std::span<const uint32_t>>& now) {
  if (now.has_value() == allowed.has_value() && (!now || std::ranges::equal(*now, *allowed)))
    return;
  n_steady = 0;
  if (!now) return allowed.reset();
  if (!allowed) allowed.emplace();
  allowed->assign(now->begin(), now->end());
}

void Scheduler::Text::shift() {
  const size_t keep = std::min<size_t>(
      options.shift->n_keep.value_or(static_cast<uint32_t>(n_prompt)), context * 3 / 4);
  const size_t behind = tokens.size() - keep;
  // A text has at least one token.
  const size_t most = keep == 0 ? behind - 1 : behind;
  const size_t wanted = options.shift->n_discard > 0 ? options.shift->n_discard : behind / 2;
  const auto n = static_cast<uint32_t>(std::clamp<size_t>(wanted, 1, most));
  const auto first = tokens.begin() + static_cast<ptrdiff_t>(keep);
  tokens.erase(first, first + n);
  stats.n_discarded += n;
  n_steps = std::min(n, n_after);
  n_after -= n_steps;
  shifted = true;
}

void Scheduler::Text::add(const kernels::Chosen& one) {
  const bool is_end = std::ranges::find(end_tokens, one.id) != end_tokens.end();
  if (is_end && !options.ignore_end) return end(StopReason::kEnd);
  tokens.push_back(one.id);
  if (filter) filter->take(one.id);
  ++stats.n_generated;
  --n_steps;
  if (!on_token(one)) return end(StopReason::kStopped);
  if (n_steps > 0) return;
  if (n_after > 0) return shift();
  const bool asked = options.max_tokens == stats.n_generated;
  end(asked ? StopReason::kLength : StopReason::kContext);
}

}  // namespace puna::engine
