// Chosen: what a step gives for a row. The token, and where a request asks for it
// (SamplingParams::n_probs) how probable the model holds it and the most probable ones.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "kernels/sample/sampling.h"

namespace puna::kernels {

struct TokenLogprob {
  int32_t id = kNoToken;
  float logprob = 0;
  bool operator==(const TokenLogprob&) const = default;
};

// Probabilities are of the model's distribution: log softmax of the logits as the model gives
// them, before any bias, filter or sampler. Natural logarithms.
struct Chosen {
  int32_t id = kNoToken;
  std::optional<float> logprob;   // of id; none where no probabilities were asked for
  std::vector<TokenLogprob> top;  // the n_probs largest, falling; the lower id first among equals
};

// Adds the probabilities to a token that was chosen by these logits [vocab]. The sum is taken in
// f64; two devices that compute the same logits differ in the last place at most.
void add_logprobs(std::span<const float> logits, uint32_t n_probs, Chosen& chosen);

}  // namespace puna::kernels
