// What architectures share: the parts of a decoder layer in builder words, by the tensor names that
// GGUF gives them. Each architecture's own file says what it does otherwise.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "models/models.h"
#include "plan/builder.h"

namespace puna::models {

// "blk.3.attn_q.weight"
std::string layer_name(uint32_t layer, std::string_view part);

// Attention of a layer with the KV heads, rotary base and scaling that the file gives it, scores
// over sqrt(head_dim).
plan::AttentionSpec attention_spec(const Config& c, uint32_t layer, kernels::RopePairs pairs);

// h [tokens, hidden] -> q, k and v side by side, from three tensors or from one, attn_qkv.
plan::Value qkv(plan::Builder& b, uint32_t layer, plan::Value h);

// RMS norms of whole rows of q and of k, in place on what qkv() gives: attn_q_norm, attn_k_norm.
void norm_q_and_k(plan::Builder& b, const Config& c, uint32_t layer, plan::Value qkv);

// h -> down(act(gate h) * up h); without a tensor ffn_gate, ffn_up holds the rows of both.
plan::Value gated_ffn(plan::Builder& b, uint32_t layer, plan::Value h,
                      kernels::Activation activation);

// h -> down(act(up h)), without a gate.
plan::Value plain_ffn(plan::Builder& b, uint32_t layer, plan::Value h,
                      kernels::Activation activation);

// x + scale * attention(norm(x)).
plan::Value pre_norm_attention(plan::Builder& b, const Config& c, plan::Value x,
                               const plan::AttentionSpec& spec, float residual_scale = 1.0f);

// The layer of Llama and its like: x + scale * attention(norm(x)), then x + scale * ffn(norm(x))
// with SwiGLU.
plan::Value pre_norm_layer(plan::Builder& b, const Config& c, plan::Value x,
                           const plan::AttentionSpec& spec, float residual_scale = 1.0f);

// The layer of Gemma 2 and 3 and its like, with norms before and after each block:
// x + norm(attention(norm(x))), then x + norm(ffn(norm(x))).
plan::Value sandwich_layer(plan::Builder& b, const Config& c, plan::Value x,
                           const plan::AttentionSpec& spec, kernels::Activation activation);

// The products that a file has behind the pooling, dense_2 and dense_3, done before it: without an
// activation between them they are the same there. Errors: kCorrupt where the keys of their sizes
// say otherwise than the tensors.
base::Result<plan::Value> products_behind_pooling(plan::Builder& b, const formats::ModelFile& file,
                                                  const Config& c, plan::Value x);

// The final RMS norm and the logits, divided by logit_divisor and capped, of the wanted rows; the
// output layer is the embedding table where the file has no other.
base::Result<plan::Graph> finish_logits(plan::Builder& b, const Config& c, plan::Value x,
                                        float logit_divisor = 1.0f, float softcap = 0.0f,
                                        std::string_view norm = "output_norm.weight");

// The same of wanted rows that are normed already, times logit_factor.
base::Result<plan::Graph> finish_normed(plan::Builder& b, plan::Value x, float logit_factor = 1.0f,
                                        float softcap = 0.0f);

}  // namespace puna::models
