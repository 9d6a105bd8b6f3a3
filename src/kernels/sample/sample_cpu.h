// The CPU form of sampling.h.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/sample/chosen.h"
#include "kernels/sample/cuts.h"
#include "kernels/sample/sampling.h"

namespace puna::kernels {

// Whether a token can be chosen by these logits (sampling.h): none is NaN or +inf, one is finite.
bool can_choose(std::span<const float> logits);

class CpuSampler {
 public:
  // The token at `position`. logits [vocab]; `text` is the sequence before it, or at least the last
  // params.looks_back() tokens of that; `allowed` has a bit for each id, lowest bits first, or is
  // empty: all are. `state`, of the text, moves on; null: as at its beginning. Ids of text and bias
  // lie within the vocabulary.
  int32_t sample(const SamplingParams& params, std::span<const float> logits,
                 std::span<const int32_t> text, uint32_t position,
                 std::span<const uint32_t> allowed = {}, SamplerState* state = nullptr);
  // The same with the probabilities that params.n_probs asks for.
  Chosen choose(const SamplingParams& params, std::span<const float> logits,
                std::span<const int32_t> text, uint32_t position,
                std::span<const uint32_t> allowed = {}, SamplerState* state = nullptr);

 private:
  // The logits with bias, and what the filter forbids.
  void make_keys(const SamplingParams& params, std::span<const float> logits,
                 std::span<const uint32_t> allowed);
  // Whether a token can be chosen by the keys as they are; finds the largest.
  bool can_choose();
  void penalize(const SamplingParams& params, std::span<const int32_t> text);
  void lower_repetitions(const SamplingParams& params, std::span<const int32_t> text);
  void cut(Sampler stage, const SamplingParams& params, uint32_t position);
  // By how much l is divided; 0: the largest stays.
  float temperature(const SamplingParams& params);
  void divide(float temperature);

  // The keys that are left, in any order, for stages that drop some.
  sampling::Keys& kept();
  // Brings what was dropped into the keys by id, before l changes.
  void settle();
  int32_t draw(float scale, uint64_t seed, uint32_t position) const;

  std::vector<uint32_t> keys_;  // by id
  sampling::Keys kept_;         // where something was cut
  bool cut_ = false;
  uint32_t lowest_ = 0, highest_ = ~0u;  // keys of what is left
  uint32_t top_ = 0;                     // the largest by id, whatever was dropped
};

}  // namespace puna::kernels
