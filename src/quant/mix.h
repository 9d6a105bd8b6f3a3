// Mixes: which type each tensor gets when a whole model is written as "q4_k_m". The rules are those
// that files named so follow in practice, the behaviour of llama-quantize without an importance
// matrix; Falcon, GLM5-next and MXFP4 special cases are left out.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "quant/quant.h"

namespace puna::quant {

struct Mix {
  std::string_view name;    // lower case: "q4_k_m"
  Type base;                // what most matrices get
  uint32_t gguf_file_type;  // general.file_type
};

std::span<const Mix> mixes();
// Case-insensitive; "q3_k", "q4_k", "q5_k" mean their _m form. nullptr when unknown.
const Mix* find_mix(std::string_view name);

// What the rules look at beside the tensor itself.
struct MixModel {
  int n_layers = 0;              // layers that have the tensor (attn_v, ffn_down)
  bool tied_embeddings = false;  // no output.weight: token_embd serves as the head too
  int n_experts = 0;
  int n_gqa = 1;  // query heads per KV head
};

// The type that the mix has for the matrix `name` ("blk.3.ffn_down.weight"), whatever its rows;
// `layer` counts among MixModel::n_layers and is ignored for tensors outside layers.
Type wanted_type(const Mix& mix, std::string_view name, int layer, const MixModel& model);

// `type` where rows of `columns` elements are whole blocks of it, else a type of smaller blocks
// with about as many bits (q2_k, q3_k: q4_0; q4_k: q5_0; q5_k: q5_1; q6_k: q8_0), f16 at last.
Type fitting_type(Type type, uint64_t columns);

// The type of a matrix with rows of `columns` elements: the one that the mix has for it, fitting.
inline Type type_of(const Mix& mix, std::string_view name, int layer, uint64_t columns,
                    const MixModel& model) {
  return fitting_type(wanted_type(mix, name, layer, model), columns);
}

// False for tensors that every mix leaves as they are: vectors, norms, routers, convolutions,
// position tables.
bool is_mixed(std::string_view name, size_t n_dimensions);

}  // namespace puna::quant
