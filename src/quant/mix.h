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

// The type of the matrix `name` ("blk.3.ffn_down.weight") with rows of `columns` elements under the
// mix; `layer` counts among MixModel::n_layers and is ignored for tensors outside layers. Where
// rows are no whole number of blocks a type of smaller blocks with about as many bits is given, f16
// at last.
Type type_of(const Mix& mix, std::string_view name, int layer, uint64_t columns,
             const MixModel& model);

// False for tensors that every mix leaves as they are: vectors, norms, routers, convolutions,
// position tables.
bool is_mixed(std::string_view name, size_t n_dimensions);

}  // namespace puna::quant
