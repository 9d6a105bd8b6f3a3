// The plain form of embed.h over a decoded f32 table.
#pragma once

#include "kernels/embed/embed.h"

namespace puna::kernels {

// table [vocab, hidden], x [n_tokens, hidden]
inline void embed_ref(const float* table, uint32_t hidden, const int32_t* tokens, uint32_t n_tokens,
                      float scale, float* x) {
  for (uint64_t t = 0; t < n_tokens; ++t) {
    for (uint64_t i = 0; i < hidden; ++i)
      x[t * hidden + i] = scale * table[static_cast<uint64_t>(tokens[t]) * hidden + i];
  }
}

}  // namespace puna::kernels
