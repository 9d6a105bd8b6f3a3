// Choosing the next token from logits on the CPU: repeat penalty, top-k, top-p, min-p, temperature,
// a seeded draw.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"

namespace puna::engine {

struct SamplingParams {
  float temperature = 0.8f;     // 0 = greedy
  uint32_t top_k = 40;          // 0 = off
  float top_p = 0.95f;          // 1 = off
  float min_p = 0.05f;          // 0 = off
  float repeat_penalty = 1.0f;  // 1 = off; divides positive, multiplies negative logits of recent
                                // tokens (Keskar et al. 2019)
  uint32_t repeat_last = 64;    // how many recent tokens the penalty looks at
  uint64_t seed = 0;

  bool greedy() const { return temperature == 0.0f; }
  bool penalized() const { return repeat_penalty != 1.0f && repeat_last > 0; }
};
// Errors: kInvalidArgument naming the parameter, its value and its range.
base::Result<void> check(const SamplingParams& params);

class Sampler {
 public:
  explicit Sampler(const SamplingParams& params) : params_(params) {}

  // The next token. `recent` are the last tokens of the sequence (for the penalty). Deterministic
  // in (seed, number of draws before).
  int32_t sample(std::span<const float> logits, std::span<const int32_t> recent);

 private:
  double uniform();

  struct Candidate {
    float logit;
    int32_t id;
  };
  SamplingParams params_;
  uint64_t n_draws_ = 0;
  std::vector<Candidate> candidates_;
  std::vector<double> weights_;
};

}  // namespace puna::engine
