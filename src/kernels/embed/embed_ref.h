// The plain form of embed.h over a decoded f32 table.
#pragma once

#include "kernels/embed/embed.h"

namespace puna::kernels {

// table [vocab, hidden], x [n_tokens, hidden]
inline void embed_ref(const float* table, uint32_t hidden, const int32_t* rows, uint32_t n_tokens,
                      float scale, float* x, bool add = false) {
  for (uint64_t t = 0; t < n_tokens; ++t) {
    const uint64_t row = rows ? static_cast<uint64_t>(rows[t]) : 0;
    for (uint64_t i = 0; i < hidden; ++i) {
      const float value = scale * table[row * hidden + i];
      x[t * hidden + i] = add ? x[t * hidden + i] + value : value;
    }
  }
}

}  // namespace puna::kernels
