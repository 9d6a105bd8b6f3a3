// The plain form of argmax in sample.h.
#pragma once

#include <cstdint>

namespace puna::kernels {

// ids[i] = index of the largest of logits[i, :], the lowest index among equals.
inline void argmax_ref(const float* logits, uint32_t n_outputs, uint32_t vocab, uint32_t* ids) {
  for (uint64_t i = 0; i < n_outputs; ++i) {
    uint32_t best = 0;
    for (uint32_t j = 1; j < vocab; ++j) {
      if (logits[i * vocab + j] > logits[i * vocab + best]) best = j;
    }
    ids[i] = best;
  }
}

}  // namespace puna::kernels
