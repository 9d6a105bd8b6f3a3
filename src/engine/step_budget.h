// StepBudget: how many tokens of prompts a step takes, so that what else waits for it - other
// texts, a cancel, a page - waits no longer than it may. From the times of steps before.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "kernels/common/step.h"

namespace puna::engine {

class StepBudget {
 public:
  // A first guess of what a token of a prompt takes.
  explicit StepBudget(double ms_per_token) : ms_per_token_(ms_per_token) {}

  // Tokens that take so long at most, by how far steps of late went beyond what was expected of
  // them, and no more than `most`; 0: that many. At least kLeast.
  uint32_t tokens(double ms, uint32_t most = kernels::kMaxStepTokens) const;
  // Whether what a token takes was measured, not guessed.
  bool is_known() const { return is_known_; }
  // How long a step may be that makes streams wait for prompts with so many tokens left: a share of
  // what these take, so that a few short ones hardly show in a stream, and long ones lose little to
  // the decodes between their steps, nor any to what each step costs beside its tokens; no more
  // than `most_ms`, but always twice a decode step.
  double stream_wait_ms(double most_ms, size_t n_left) const;
  // Steps with tokens of prompts took so long, in which so many tokens beside were only decoded; a
  // decode step without.
  void read(uint32_t n_tokens, double ms, uint32_t n_beside = 0);
  void decoded(double ms);
  // Of the time of such a step, what its tokens of prompts took.
  double prompt_ms(double ms, uint32_t n_beside) const;
  double decode_ms() const { return decode_ms_; }
  // What steps should take, the first with so many tokens of prompts; 0: not known yet.
  double expected_ms(uint32_t n_tokens, uint32_t n_steps) const {
    return decode_ms_ == 0 ? 0 : cost_ms(n_tokens) + n_steps * decode_ms_;
  }

  static constexpr uint32_t kLeast = 8;

 private:
  // Steps of late as points (tokens, ms), each counting a little less than the one after it.
  struct Points {
    double weight = 0, tokens = 0, squares = 0, ms = 0, products = 0;
    void add(double n, double t);
    // How many tokens cost what a step costs before its first, by the line through the points
    // (least squares); none where they lie too close together to tell, or fall.
    std::optional<double> first_tokens() const;
  };

  double cost_ms(uint32_t n_tokens) const {
    return n_tokens == 0 ? 0 : ms_per_token_ * (n_tokens + first_tokens_);
  }

  double ms_per_token_;
  Points points_;
  // What a step with tokens of prompts costs beside them, in tokens: on a GPU, whose weights are
  // read for a few tokens as for many, about a hundred.
  double first_tokens_ = 0;
  double decode_ms_ = 0;
  bool is_known_ = false;
  double beyond_ = 1;  // what steps took of what was expected, the most of late
};

}  // namespace puna::engine
