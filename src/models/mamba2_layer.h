// The Mamba-2 layer, which several architectures share.
#pragma once

#include "models/blocks.h"

namespace puna::models {

// The sizes of a Mamba-2 layer, from the keys "ARCH.ssm.*".
struct Mamba2Config {
  uint32_t n_heads = 0;
  uint32_t head_dim = 0;
  uint32_t n_state = 0;
  uint32_t n_groups = 0;
};
// Errors: kNotFound, kCorrupt naming the key.
base::Result<Mamba2Config> mamba2_config(const formats::ModelFile& file, const Config& c);

// h [tokens, hidden] -> the same shape: projections, convolution, scan, gate, norm of each group (a
// file may have none) and projection back.
plan::Value mamba2_layer(plan::Builder& b, const Config& c, const Mamba2Config& m, uint32_t layer,
                         plan::Value h);

}  // namespace puna::models
