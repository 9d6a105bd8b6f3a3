// The plain form of embed.h over a decoded f32 table.
#pragma once

#include "kernels/embed/embed.h"

namespace puna::kernels {

// table [vocab, hidden], x [n_tokens, hidden]
inline void embed_ref(const float* table, uint32_t hidden, const int32_t* rows, uint32_t n_tokens,
                      float scale, float* x, bool add = false, const float* media = nullptr) {
  for (uint64_t t = 0; t < n_tokens; ++t) {
    const int64_t token = rows ? rows[t] : 0;
    const auto row = static_cast<uint64_t>(token < 0 ? 0 : token);
    for (uint64_t i = 0; i < hidden; ++i) {
      float value = scale * table[row * hidden + i];
      if (token < 0 && media) value = media[static_cast<uint64_t>(-1 - token) * hidden + i];
      x[t * hidden + i] = add ? x[t * hidden + i] + value : value;
    }
  }
}

}  // namespace puna::kernels
