// The Mamba layer, which several architectures share. Mamba-2's is in mamba2_layer.h.
#pragma once

#include "models/blocks.h"

namespace puna::models {

// The sizes of a Mamba layer, from the keys "ARCH.ssm.*".
struct MambaConfig {
  uint32_t inner = 0;
  uint32_t n_rank = 0;  // of what dt is made of
  // RMS norms of what dt is made of, of B and of C: without weights, or with those of the file
  // where it has them.
  bool norms = false;
  float norm_eps = 1e-6f;
};
// Errors: kNotFound naming a key or a bias, kCorrupt naming the key.
base::Result<MambaConfig> mamba_config(const formats::ModelFile& file, const Config& c);

// h [tokens, hidden] -> the same shape: projections, convolution, scan, gate and projection back.
plan::Value mamba_layer(plan::Builder& b, const MambaConfig& m, uint32_t layer, plan::Value h);

}  // namespace puna::models
