// The encoder of T5 (Raffel et al. 2020), which gives embeddings, as Sentence-T5 and GTR use it
// (Ni et al. 2021); also of mT5, UMT5 and Flan-T5. Every token sees the whole text; scores are not
// scaled, and have a bias of their head by the distance, in buckets, in place of positions: one
// table for all layers, or one a layer (UMT5). RMS norms before each block. ReLU, since version 1.1
// a gate with the tanh form of GELU, which the tensors tell. Products behind the pooling are done
// before it, which is the same.

#include <fmt/format.h>

#include "models/blocks.h"

namespace puna::models {

namespace {

// "enc.blk.3.attn_q.weight"
std::string encoder_name(uint32_t layer, std::string_view part) {
  return "enc." + layer_name(layer, part);
}

base::Result<kernels::RelativeBuckets> read_buckets(const formats::ModelFile& file,
                                                    const Config& c) {
  constexpr uint64_t kMostBuckets = 1 << 16, kFurthest = 1 << 16;
  kernels::RelativeBuckets buckets;
  const std::string key = c.architecture + ".attention.relative_buckets_count";
  PUNA_TRY(buckets.n, count(file, key, kMostBuckets));
  if (buckets.n < 4) {
    return base::fail(
        base::ErrorCode::kUnsupported,
        fmt::format("The key \"{}\" is {}; 4 or more are supported.", key, buckets.n));
  }
  // Files of llama.cpp have no key for it.
  const std::string reach_key = c.architecture + ".attention.relative_max_distance";
  buckets.reach = 128;
  if (file.find(reach_key)) {
    PUNA_TRY(buckets.reach, count(file, reach_key, kFurthest));
  }
  if (buckets.reach <= buckets.n / 4) {
    return base::fail(
        base::ErrorCode::kUnsupported,
        fmt::format("The key \"{}\" is {}; more than the {} distances that have a bucket of their "
                    "own is supported.",
                    reach_key, buckets.reach, buckets.n / 4));
  }
  return buckets;
}

plan::Value ffn(plan::Builder& b, uint32_t layer, plan::Value h) {
  const std::string gate = encoder_name(layer, "ffn_gate"), up = encoder_name(layer, "ffn_up");
  const plan::Value f = b.has(gate) ? b.gated(gate, up, h, kernels::Activation::kGeluTanh)
                                    : b.activated(up, h, kernels::Activation::kRelu);
  return b.matmul({encoder_name(layer, "ffn_down")}, f);
}

}  // namespace

base::Result<plan::Graph> build_t5_encoder(const formats::ModelFile& file, const Config& c) {
  PUNA_TRY(const kernels::RelativeBuckets buckets, read_buckets(file, c));
  if (c.causal) {
    return base::fail(base::ErrorCode::kUnsupported,
                      fmt::format("The key \"{}.attention.causal\" is true, which is not supported "
                                  "for this architecture.",
                                  c.architecture));
  }
  plan::Builder b(file, c.n_heads);
  plan::Value x = b.embed("token_embd.weight");
  for (uint32_t l = 0; l < c.n_layers; ++l) {
    plan::AttentionSpec spec = attention_spec(c, l, kernels::RopePairs::kNeox);
    spec.rope = {};
    spec.scale = 1.0f;
    const std::string own = encoder_name(l, "attn_rel_b");
    spec.biases = b.has(own) ? own : encoder_name(0, "attn_rel_b");
    spec.buckets = buckets;
    plan::Value h = b.rms_norm(x, encoder_name(l, "attn_norm"), c.norm_eps);
    h = b.matmul({encoder_name(l, "attn_q"), encoder_name(l, "attn_k"), encoder_name(l, "attn_v")},
                 h);
    x = b.add(x, b.matmul({encoder_name(l, "attn_o")}, b.attention(h, spec)));
    x = b.add(x, ffn(b, l, b.rms_norm(x, encoder_name(l, "ffn_norm"), c.norm_eps)));
  }
  x = b.rms_norm(b.select_outputs(x), "enc.output_norm.weight", c.norm_eps);
  PUNA_TRY(x, products_behind_pooling(b, file, c, x));
  return b.finish_embeddings(x);
}

}  // namespace puna::models
