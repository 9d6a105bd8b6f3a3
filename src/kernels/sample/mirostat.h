// Mirostat (Basu et al. 2020): keeps the surprise of a text near a wanted one by what it cuts
// before each token. sampling.h says where it stands among the stages.
#pragma once

#include <span>

#include "kernels/sample/cuts.h"
#include "kernels/sample/sampling.h"

namespace puna::kernels::sampling {

// Keeps the most probable keys, one at least, by the state of the text. vocab: the paper's N.
void mirostat_cut(const MirostatParams& params, float mu, uint32_t vocab, Keys& keys);

// After a token with this key was drawn from those that were kept.
float mirostat_next(const MirostatParams& params, float mu, std::span<const uint32_t> kept,
                    uint32_t chosen);

// Where a text begins.
inline float mirostat_begin(const MirostatParams& params) { return 2 * params.tau; }

}  // namespace puna::kernels::sampling
