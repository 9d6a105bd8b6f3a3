// A text that the scheduler has: what was asked for, how far it is, and what becomes of it with
// each token. Steps, and what texts share, are scheduler.cpp.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "base/clock.h"
#include "engine/paced_filter.h"
#include "engine/scheduler.h"
#include "kernels/sample/sample.h"

namespace puna::engine {

struct Scheduler::Text {
  std::vector<int32_t> tokens;      // the prompt and what has been written
  std::vector<Prompt::Span> media;  // in the prompt
  GenerateOptions options;
  std::optional<PacedFilter> filter;  // of the options
  std::vector<int32_t> ruled_out;     // by their logit biases
  std::vector<int32_t> end_tokens;
  OnToken on_token;
  std::function<void(base::Result<GenerateStats>)> done;

  uint64_t order = 0;   // of those that came before it
  size_t n_prompt = 0;  // tokens of the prompt
  uint32_t sequence = 0;
  size_t context = 0;    // tokens that it may have
  uint32_t n_steps = 0;  // tokens that are still to be chosen
  uint32_t n_after = 0;  // and after these, when the context is full
  bool shifted = false;  // its tokens are others than those of its sequence
  bool begun = false;    // it had a sequence before
  bool chosen = false;   // the first token
  // Another text is reading the same beginning, up to this many tokens: it is worth waiting for.
  std::weak_ptr<Text> ahead;
  size_t n_shared = 0;
  std::set<size_t> branches;  // where texts that wait for this one part from it
  bool ended = false;
  std::optional<base::Error> error;  // that ended it
  kernels::SamplerState sampler;
  // Of the filter: what it allows next, and for how many tokens it has been so.
  std::optional<std::vector<uint32_t>> allowed;
  uint32_t n_steady = 0;
  double forced_share = 0;         // of the last tokens, behind how many some were forced
  std::optional<uint32_t> n_told;  // of the prompt, that is read
  GenerateStats stats;
  base::Timer timer;

  bool cancelled() {
    if (!options.control || !options.control->cancel) return false;
    end(StopReason::kCancelled);
    return true;
  }

  // Takes one chosen token, and what the filter forces after it where that is as long as `least`.
  void take(const kernels::Chosen& one, uint32_t least);

  // That so many of its tokens are evaluated. What is evaluated again is no news.
  void tell(size_t n_evaluated);

  // Adds what the filter forces, until there is a choice. Less than `least` is left to steps. Where
  // the filter and the logit biases together leave nothing the text ends, if need be with an error.
  void follow_filter(uint32_t least = 1);

  // Whether what the filter allows has not changed with the last token, nor anything been forced.
  bool holds() const { return !filter || n_steady > 0; }
  // Whether that is likely to stay so. What is allowed is remembered as the next step is given it.
  bool is_steady() {
    remember(filter->allowed());
    return has_held();
  }
  bool has_held() const { return !filter || n_steady >= kSteadyTokens; }

  base::Result<void> outcome() const {
    if (error) return std::unexpected(*error);
    return {};
  }

 private:
  // Tokens for which a filter has allowed the same, until it is taken to go on so: as where a text
  // is free until a call of a tool begins, in thinking, in a long string. A wrong guess costs the
  // steps that a GPU is ahead.
  static constexpr uint32_t kSteadyTokens = 16;

  void remember(const std::optional<std::span<const uint32_t>>& now);

  void end(StopReason reason) {
    stats.stop = reason;
    if (stats.n_discarded > 0) stats.left = tokens;
    ended = true;
  }

  // Drops what Shift says, and goes on in the room that it gives.
  void shift();

  void add(const kernels::Chosen& one);
};

}  // namespace puna::engine
