// StepBudget: how many tokens of prompts a step takes, so that what else waits for it - other
// texts, a cancel, a page - waits no longer than it may. From the times of steps before.
#pragma once

#include <cstddef>
#include <cstdint>

namespace puna::engine {

class StepBudget {
 public:
  // A first guess of what a token of a prompt takes.
  explicit StepBudget(double ms_per_token) : ms_per_token_(ms_per_token) {}

  // Tokens that take so long at most, by how far steps of late went beyond what was expected of
  // them; 0: as many as a step can have. At least kLeast.
  uint32_t tokens(double ms) const;
  // How long a step may be that makes streams wait for prompts with so many tokens left: a share of
  // what these take, so that a few short ones hardly show in a stream, and long ones lose little to
  // the decodes between their steps; no more than `most_ms`, but always twice a decode step.
  double stream_wait_ms(double most_ms, size_t n_left) const;
  // Steps with tokens of prompts took so long, in which so many tokens beside were only decoded; a
  // decode step without.
  void read(uint32_t n_tokens, double ms, uint32_t n_beside = 0);
  void decoded(double ms);
  // Of the time of such a step, what its tokens of prompts took.
  double prompt_ms(double ms, uint32_t n_beside) const;
  double decode_ms() const { return decode_ms_; }
  // What steps should take, with so many tokens of prompts in them; 0: not known yet.
  double expected_ms(uint32_t n_tokens, uint32_t n_steps) const {
    return decode_ms_ == 0 ? 0 : n_tokens * ms_per_token_ + n_steps * decode_ms_;
  }

  static constexpr uint32_t kLeast = 8;

 private:
  double ms_per_token_;
  double decode_ms_ = 0;
  bool is_known_ = false;  // what a token takes, by a step and not by a guess
  double beyond_ = 1;      // what steps took of what was expected, the most of late
};

}  // namespace puna::engine
