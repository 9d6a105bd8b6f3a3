// The CPU form of sampling.h.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/sample/chosen.h"
#include "kernels/sample/sampling.h"

namespace puna::kernels {

// Whether a token can be chosen by these logits (sampling.h): none is NaN or +inf, one is finite.
bool can_choose(std::span<const float> logits);

class CpuSampler {
 public:
  // The token at `position`. logits [vocab]; `text` is the sequence before it, or at least the last
  // params.repeat_last tokens of that; `allowed` has a bit for each id, lowest bits first, or is
  // empty: all are. Ids of text and bias lie within the vocabulary.
  int32_t sample(const SamplingParams& params, std::span<const float> logits,
                 std::span<const int32_t> text, uint32_t position,
                 std::span<const uint32_t> allowed = {});

  // The same with the probabilities that params.n_probs asks for.
  Chosen choose(const SamplingParams& params, std::span<const float> logits,
                std::span<const int32_t> text, uint32_t position,
                std::span<const uint32_t> allowed = {});

 private:
  void make_keys(const SamplingParams& params, const SampleRow& row, std::span<const float> logits,
                 std::span<const int32_t> text);
  void forbid(std::span<const uint32_t> allowed);
  uint32_t threshold(const SampleRow& row, uint32_t top);

  std::vector<uint32_t> keys_;  // by id
  std::vector<uint32_t> kept_;  // keys that stay, for the cuts
};

}  // namespace puna::kernels
