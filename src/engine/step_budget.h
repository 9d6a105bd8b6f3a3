// StepBudget: how many tokens of prompts a step takes, so that what else waits for it - other
// texts, a cancel, a page - waits no longer than it may. From the times of steps before.
#pragma once

#include <cstdint>

namespace puna::engine {

class StepBudget {
 public:
  // A first guess of what a token of a prompt takes.
  explicit StepBudget(double ms_per_token) : ms_per_token_(ms_per_token) {}

  // Tokens that take about so long; 0: as many as a step can have. At least kLeast.
  uint32_t tokens(double ms) const;
  // A step with tokens of prompts, or a decode step without, took so long.
  void read(uint32_t n_tokens, double ms);
  void decoded(double ms);
  double decode_ms() const { return decode_ms_; }
  // What steps should take, with so many tokens of prompts in them; 0: not known yet.
  double expected_ms(uint32_t n_tokens, uint32_t n_steps) const {
    return decode_ms_ == 0 ? 0 : n_tokens * ms_per_token_ + n_steps * decode_ms_;
  }

  static constexpr uint32_t kLeast = 8;

 private:
  double ms_per_token_;
  double decode_ms_ = 0;
};

}  // namespace puna::engine
