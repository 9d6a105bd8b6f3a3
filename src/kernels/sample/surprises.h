// How surprising the tokens of a distribution are, in bits, for the stages that go by it.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/sample/sampling.h"

namespace puna::kernels::sampling {

// Of the distribution of these keys (arithmetic.h), in units of 2^-24 bits.
struct Surprises {
  explicit Surprises(std::span<const uint32_t> keys);
  // -log2 of a token's probability.
  int64_t of(uint32_t key) const;
  // Their mean, and the largest mean that as many tokens could have.
  int64_t entropy = 0, most_entropy = 0;

 private:
  uint32_t top_ = 0;
  int64_t log2_total_ = 0;  // of the weights, in units of the top's
};

// The temperature by a distribution of more than one token.
float dynamic_temperature(const SamplingParams& params, const Surprises& surprises);

}  // namespace puna::kernels::sampling
