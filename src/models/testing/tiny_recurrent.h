// A model file made in memory, as tiny_model() makes one, of an architecture that keeps recurrent
// state: lfm2, jamba and qwen35 in every second layer, falcon-h1 in each, beside attention.
#pragma once

#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "formats/model_file.h"
#include "models/testing/tiny_model.h"
#include "quant/quant.h"

namespace puna::fixtures {

inline formats::ModelFile tiny_recurrent_model(const TinyShape& s) {
  formats::ModelFile file;
  file.name = "tiny " + s.architecture;
  std::vector<std::byte> bytes;
  std::mt19937 random(s.seed);
  const auto tensor = [&](const std::string& name, std::vector<uint64_t> shape, float mean,
                          float deviation) {
    formats::Tensor t;
    t.name = name;
    t.shape = std::move(shape);
    t.offset = bytes.size();
    t.bytes = t.rows() * t.columns() * sizeof(float);
    std::normal_distribution<float> normal(mean, deviation);
    std::vector<float> values(t.rows() * t.columns());
    for (float& v : values) v = normal(random);
    bytes.resize(bytes.size() + t.bytes);
    quant::info(t.type).encode(values.data(), bytes.data() + t.offset, values.size());
    file.tensors.push_back(std::move(t));
  };
  const auto matrix = [&](const std::string& name, uint64_t rows, uint64_t columns) {
    tensor(name, {rows, columns}, 0.0f, 1.0f / std::sqrt(static_cast<float>(columns)));
  };
  const auto norm = [&](const std::string& name, uint64_t n) { tensor(name, {n}, 1.0f, 0.2f); };

  const std::string p = s.architecture + ".";
  const auto set = [&](const std::string& key, formats::Value value) {
    file.metadata.emplace_back(key, std::move(value));
  };
  set("general.architecture", s.architecture);
  set(p + "block_count", uint64_t{s.n_layers});
  set(p + "embedding_length", uint64_t{s.hidden});
  set(p + "feed_forward_length", uint64_t{s.ffn});
  set(p + "attention.head_count", uint64_t{s.n_heads});
  const bool lfm2 = s.architecture == "lfm2", falcon = s.architecture == "falcon-h1",
             jamba = s.architecture == "jamba", qwen35 = s.architecture == "qwen35";
  const auto mixes_by_state = [&](uint32_t l) { return (lfm2 || jamba || qwen35) && l % 2 == 0; };
  if (lfm2 || jamba) {
    std::vector<uint64_t> kv_heads;
    for (uint32_t l = 0; l < s.n_layers; ++l)
      kv_heads.push_back(mixes_by_state(l) ? 0 : s.n_kv_heads);
    set(p + "attention.head_count_kv", kv_heads);
  } else {
    set(p + "attention.head_count_kv", uint64_t{s.n_kv_heads});
  }
  constexpr uint64_t kStateHeads = 4, kStateGroups = 2, kStateSize = 32, kInner = 96;
  if (falcon || qwen35) {
    set(p + "ssm.inner_size", kInner);
    set(p + "ssm.state_size", kStateSize);
    set(p + "ssm.time_step_rank", kStateHeads);
    set(p + "ssm.group_count", kStateGroups);
  }
  constexpr uint64_t kRank = 8, kChannelStates = 16;
  if (jamba) {
    set(p + "ssm.inner_size", kInner);
    set(p + "ssm.time_step_rank", kRank);
  }
  set(p + "attention.key_length", uint64_t{s.head_dim});
  set(p + "attention.value_length", uint64_t{s.head_dim});
  set(p + "context_length", uint64_t{s.context});
  set(p + "attention.layer_norm_rms_epsilon", 1e-5);
  matrix("token_embd.weight", s.vocab, s.hidden);
  norm(lfm2 ? "token_embd_norm.weight" : "output_norm.weight", s.hidden);
  const uint64_t q = uint64_t{s.n_heads} * s.head_dim, kv = uint64_t{s.n_kv_heads} * s.head_dim;
  for (uint32_t l = 0; l < s.n_layers; ++l) {
    const std::string b = "blk." + std::to_string(l) + ".";
    norm(b + "attn_norm.weight", s.hidden);
    norm(b + (falcon   ? "ffn_norm"
              : qwen35 ? "post_attention_norm.weight"
                       : "ffn_norm.weight"),
         s.hidden);
    matrix(b + "ffn_gate.weight", s.ffn, s.hidden);
    matrix(b + "ffn_up.weight", s.ffn, s.hidden);
    matrix(b + "ffn_down.weight", s.hidden, s.ffn);
    if (falcon || (qwen35 && mixes_by_state(l))) {
      const uint64_t channels = kInner + 2 * kStateGroups * kStateSize;
      tensor(b + "ssm_a", {kStateHeads, 1}, -0.5f, 0.1f);
      tensor(b + "ssm_dt.bias", {kStateHeads}, 0.0f, 0.5f);
      matrix(b + "ssm_conv1d.weight", channels, 4);
      matrix(b + "ssm_out.weight", s.hidden, kInner);
      if (falcon) {
        tensor(b + "ssm_d", {kStateHeads, 1}, 0.0f, 1.0f);
        tensor(b + "ssm_conv1d.bias", {channels}, 0.0f, 0.2f);
        matrix(b + "ssm_in.weight", kInner + channels + kStateHeads, s.hidden);
        tensor(b + "ssm_norm.weight", {kStateGroups, kInner / kStateGroups}, 1.0f, 0.2f);
      } else {
        matrix(b + "attn_qkv.weight", channels, s.hidden);
        matrix(b + "attn_gate.weight", kInner, s.hidden);
        matrix(b + "ssm_beta.weight", kStateHeads, s.hidden);
        matrix(b + "ssm_alpha.weight", kStateHeads, s.hidden);
        norm(b + "ssm_norm.weight", kInner / kStateHeads);
      }
    }
    if (lfm2 && mixes_by_state(l)) {
      matrix(b + "shortconv.conv.weight", s.hidden, 3);
      matrix(b + "shortconv.in_proj.weight", 3 * uint64_t{s.hidden}, s.hidden);
      matrix(b + "shortconv.out_proj.weight", s.hidden, s.hidden);
    }
    if (jamba && mixes_by_state(l)) {
      matrix(b + "ssm_in.weight", 2 * kInner, s.hidden);
      matrix(b + "ssm_conv1d.weight", kInner, 4);
      tensor(b + "ssm_conv1d.bias", {kInner}, 0.0f, 0.2f);
      matrix(b + "ssm_x.weight", kRank + 2 * kChannelStates, kInner);
      norm(b + "ssm_dt_norm.weight", kRank);
      norm(b + "ssm_b_norm.weight", kChannelStates);
      norm(b + "ssm_c_norm.weight", kChannelStates);
      matrix(b + "ssm_dt.weight", kInner, kRank);
      tensor(b + "ssm_dt.bias", {kInner}, 0.0f, 0.5f);
      tensor(b + "ssm_a", {kInner, kChannelStates}, -0.5f, 0.1f);
      tensor(b + "ssm_d", {kInner}, 0.0f, 1.0f);
      matrix(b + "ssm_out.weight", s.hidden, kInner);
    }
    if (mixes_by_state(l)) continue;
    if (!falcon && !jamba) {
      norm(b + "attn_q_norm.weight", s.head_dim);
      norm(b + "attn_k_norm.weight", s.head_dim);
    }
    matrix(b + "attn_q.weight", qwen35 ? 2 * q : q, s.hidden);
    matrix(b + "attn_k.weight", kv, s.hidden);
    matrix(b + "attn_v.weight", kv, s.hidden);
    matrix(b + "attn_output.weight", s.hidden, q);
  }
  file.sources.push_back(io::from_memory("tiny weights", std::move(bytes)));
  file.index();
  return file;
}

}  // namespace puna::fixtures
