// A model file made in memory, as tiny_model() makes one, of an architecture that keeps recurrent
// state: lfm2, jamba and qwen35 in every second layer, falcon-h1 in each, beside attention.
#pragma once

#include "models/testing/tiny_file.h"

namespace puna::fixtures {

inline formats::ModelFile tiny_recurrent_model(const TinyShape& s) {
  TinyFile file(s);
  file.set_attention();
  const bool lfm2 = s.architecture == "lfm2", falcon = s.architecture == "falcon-h1",
             jamba = s.architecture == "jamba", qwen35 = s.architecture == "qwen35";
  const auto mixes_by_state = [&](uint32_t l) { return (lfm2 || jamba || qwen35) && l % 2 == 0; };
  if (lfm2 || jamba) {
    std::vector<uint64_t> kv_heads;
    for (uint32_t l = 0; l < s.n_layers; ++l)
      kv_heads.push_back(mixes_by_state(l) ? 0 : s.n_kv_heads);
    file.set("attention.head_count_kv", kv_heads);
  } else {
    file.set("attention.head_count_kv", uint64_t{s.n_kv_heads});
  }
  constexpr uint64_t kStateHeads = 4, kStateGroups = 2, kStateSize = 32, kInner = 96;
  if (falcon || qwen35) {
    file.set("ssm.inner_size", kInner);
    file.set("ssm.state_size", kStateSize);
    file.set("ssm.time_step_rank", kStateHeads);
    file.set("ssm.group_count", kStateGroups);
  }
  constexpr uint64_t kRank = 8, kChannelStates = 16;
  if (jamba) {
    file.set("ssm.inner_size", kInner);
    file.set("ssm.time_step_rank", kRank);
  }
  file.matrix("token_embd.weight", s.vocab, s.hidden);
  file.norm(lfm2 ? "token_embd_norm.weight" : "output_norm.weight", s.hidden);
  const uint64_t q = uint64_t{s.n_heads} * s.head_dim, kv = uint64_t{s.n_kv_heads} * s.head_dim;
  for (uint32_t l = 0; l < s.n_layers; ++l) {
    const std::string b = "blk." + std::to_string(l) + ".";
    file.norm(b + "attn_norm.weight", s.hidden);
    file.norm(b + (falcon   ? "ffn_norm"
                   : qwen35 ? "post_attention_norm.weight"
                            : "ffn_norm.weight"),
              s.hidden);
    file.matrix(b + "ffn_gate.weight", s.ffn, s.hidden);
    file.matrix(b + "ffn_up.weight", s.ffn, s.hidden);
    file.matrix(b + "ffn_down.weight", s.hidden, s.ffn);
    if (falcon || (qwen35 && mixes_by_state(l))) {
      const uint64_t channels = kInner + 2 * kStateGroups * kStateSize;
      file.tensor(b + "ssm_a", {kStateHeads, 1}, -0.5f, 0.1f);
      file.tensor(b + "ssm_dt.bias", {kStateHeads}, 0.0f, 0.5f);
      file.matrix(b + "ssm_conv1d.weight", channels, 4);
      file.matrix(b + "ssm_out.weight", s.hidden, kInner);
      if (falcon) {
        file.tensor(b + "ssm_d", {kStateHeads, 1}, 0.0f, 1.0f);
        file.tensor(b + "ssm_conv1d.bias", {channels}, 0.0f, 0.2f);
        file.matrix(b + "ssm_in.weight", kInner + channels + kStateHeads, s.hidden);
        file.tensor(b + "ssm_norm.weight", {kStateGroups, kInner / kStateGroups}, 1.0f, 0.2f);
      } else {
        file.matrix(b + "attn_qkv.weight", channels, s.hidden);
        file.matrix(b + "attn_gate.weight", kInner, s.hidden);
        file.matrix(b + "ssm_beta.weight", kStateHeads, s.hidden);
        file.matrix(b + "ssm_alpha.weight", kStateHeads, s.hidden);
        file.norm(b + "ssm_norm.weight", kInner / kStateHeads);
      }
    }
    if (lfm2 && mixes_by_state(l)) {
      file.matrix(b + "shortconv.conv.weight", s.hidden, 3);
      file.matrix(b + "shortconv.in_proj.weight", 3 * uint64_t{s.hidden}, s.hidden);
      file.matrix(b + "shortconv.out_proj.weight", s.hidden, s.hidden);
    }
    if (jamba && mixes_by_state(l)) {
      file.matrix(b + "ssm_in.weight", 2 * kInner, s.hidden);
      file.matrix(b + "ssm_conv1d.weight", kInner, 4);
      file.tensor(b + "ssm_conv1d.bias", {kInner}, 0.0f, 0.2f);
      file.matrix(b + "ssm_x.weight", kRank + 2 * kChannelStates, kInner);
      file.norm(b + "ssm_dt_norm.weight", kRank);
      file.norm(b + "ssm_b_norm.weight", kChannelStates);
      file.norm(b + "ssm_c_norm.weight", kChannelStates);
      file.matrix(b + "ssm_dt.weight", kInner, kRank);
      file.tensor(b + "ssm_dt.bias", {kInner}, 0.0f, 0.5f);
      file.tensor(b + "ssm_a", {kInner, kChannelStates}, -0.5f, 0.1f);
      file.tensor(b + "ssm_d", {kInner}, 0.0f, 1.0f);
      file.matrix(b + "ssm_out.weight", s.hidden, kInner);
    }
    if (mixes_by_state(l)) continue;
    if (!falcon && !jamba) {
      file.norm(b + "attn_q_norm.weight", s.head_dim);
      file.norm(b + "attn_k_norm.weight", s.head_dim);
    }
    file.matrix(b + "attn_q.weight", qwen35 ? 2 * q : q, s.hidden);
    file.matrix(b + "attn_k.weight", kv, s.hidden);
    file.matrix(b + "attn_v.weight", kv, s.hidden);
    file.matrix(b + "attn_output.weight", s.hidden, q);
  }
  return std::move(file).finish();
}

}  // namespace puna::fixtures
