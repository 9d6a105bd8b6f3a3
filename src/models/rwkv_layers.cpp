#include "models/rwkv_layers.h"

#include <fmt/format.h>

#include "models/layer_normed.h"

namespace puna::models {

using base::ErrorCode;
using plan::Builder;
using plan::Value;

base::Result<RwkvConfig> rwkv_config(const formats::ModelFile& file, const Config& c) {
  RwkvConfig r;
  const std::string p = c.architecture + ".";
  PUNA_TRY(r.norm_eps, layer_norm_eps(file, c));
  PUNA_TRY(r.head_dim, count(file, p + "wkv.head_size", kernels::kMaxWkvHeadDim));
  if (c.hidden % r.head_dim != 0 || r.head_dim % 4 != 0) {
    return base::fail(
        ErrorCode::kCorrupt,
        fmt::format("The key \"{}wkv.head_size\" is {}, but a multiple of 4 that divides the {} of "
                    "\"{}embedding_length\" is expected.",
                    p, r.head_dim, c.hidden, p));
  }
  r.n_heads = c.hidden / r.head_dim;
  constexpr uint64_t kShifts = 2;
  PUNA_TRY(const uint64_t n_shifts, file.get_uint(p + "token_shift_count", kShifts));
  if (n_shifts != kShifts) {
    return base::fail(ErrorCode::kUnsupported,
                      fmt::format("The key \"{}token_shift_count\" is {}; {} is supported.", p,
                                  n_shifts, kShifts));
  }
  return r;
}

base::Result<void> check_rows(const formats::ModelFile& file, const Config& c,
                              std::initializer_list<RowsOfTensor> wanted) {
  for (uint32_t l = 0; l < c.n_layers; ++l) {
    for (const auto& [part, rows] : wanted) {
      const std::string name = layer_name(l, part);
      const formats::Tensor* tensor = file.find_tensor(name);
      if (!tensor || tensor->rows() == rows) continue;
      return base::fail(ErrorCode::kCorrupt,
                        fmt::format("Tensor \"{}\" has {} rows, but {} are expected.", name,
                                    tensor->rows(), rows));
    }
  }
  return {};
}

base::Result<plan::Graph> finish_rwkv(Builder& b, const Config& c, const RwkvConfig& rwkv,
                                      const RwkvLayers& layers) {
  const auto normed = [&](Value v, const std::string& name) {
    return b.layer_norm(v, name, rwkv.norm_eps, /*apart=*/true);
  };
  Value x = normed(b.embed("token_embd.weight"), "token_embd_norm.weight");
  for (uint32_t l = 0; l < c.n_layers; ++l) {
    x = b.add(x, layers.time_mix(b, l, normed(x, layer_name(l, "attn_norm"))));
    x = b.add(x, layers.channel_mix(b, l, normed(x, layer_name(l, "attn_norm_2"))));
    if (layers.halved_every != 0 && (l + 1) % layers.halved_every == 0) x = b.scale(x, 0.5f);
  }
  return finish_normed(b, normed(b.select_outputs(x), "output_norm.weight"));
}

void norm_heads(Builder& b, const RwkvConfig& rwkv, uint32_t layer, Value y) {
  plan::PartsSpec spec;
  spec.shape.kind = kernels::NormKind::kLayer;
  spec.shape.n_parts = rwkv.n_heads;
  spec.shape.weights_by_part = true;
  spec.shape.eps = 64e-5f;  // files have no key for it
  spec.gamma = {layer_name(layer, "time_mix_ln")};
  spec.beta = plan::bias_of(spec.gamma.front());
  b.norm_parts(y, spec);
}

}  // namespace puna::models
