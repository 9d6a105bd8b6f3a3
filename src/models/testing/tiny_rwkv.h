// A model file made in memory, as tiny_model() makes one, of rwkv6 or rwkv7: every layer keeps
// state, and there is no attention.
#pragma once

#include "models/testing/tiny_file.h"

namespace puna::fixtures {

class TinyRwkv {
 public:
  explicit TinyRwkv(const TinyShape& s) : shape_(s), file_(shape_) {
    file_.set("attention.layer_norm_epsilon", 1e-5);
    file_.set("wkv.head_size", uint64_t{s.head_dim});
    matrix("token_embd", s.vocab, s.hidden);
    norm("token_embd_norm");
    for (uint32_t l = 0; l < s.n_layers; ++l) layer("blk." + std::to_string(l) + ".");
    norm("output_norm");
    matrix("output", s.vocab, s.hidden);
  }
  formats::ModelFile take() { return std::move(file_).finish(); }

 private:
  static constexpr uint64_t kRank = 8;

  void tensor(const std::string& name, std::vector<uint64_t> shape, float mean, float deviation) {
    file_.tensor(name, std::move(shape), mean, deviation);
  }
  void matrix(const std::string& name, uint64_t rows, uint64_t columns) {
    file_.matrix(name + ".weight", rows, columns);
  }
  void vector(const std::string& name, float mean, float deviation) {
    tensor(name + ".weight", {shape_.hidden}, mean, deviation);
  }
  void norm(const std::string& name) {
    vector(name, 1.0f, 0.2f);
    tensor(name + ".bias", {shape_.hidden}, 0.0f, 0.2f);
  }
  void low_rank(const std::string& name) {
    matrix(name + "1", kRank, shape_.hidden);
    matrix(name + "2", shape_.hidden, kRank);
  }

  void layer(const std::string& b) {
    const uint64_t hidden = shape_.hidden;
    norm(b + "attn_norm");
    norm(b + "attn_norm_2");
    norm(b + "time_mix_ln");
    for (const char* name : {"receptance", "key", "value", "output"})
      matrix(b + "time_mix_" + name, hidden, hidden);
    matrix(b + "channel_mix_key", shape_.ffn, hidden);
    matrix(b + "channel_mix_value", hidden, shape_.ffn);
    vector(b + "channel_mix_lerp_k", 0.5f, 0.3f);
    if (shape_.architecture == "rwkv6") {
      matrix(b + "time_mix_gate", hidden, hidden);
      matrix(b + "time_mix_w1", 5 * kRank, hidden);
      tensor(b + "time_mix_w2.weight", {5, hidden, kRank}, 0.0f, 0.1f);
      vector(b + "time_mix_lerp_x", 0.5f, 0.3f);
      tensor(b + "time_mix_lerp_fused.weight", {5, 1, 1, hidden}, 0.5f, 0.3f);
      vector(b + "time_mix_first", 0.5f, 0.5f);
      vector(b + "time_mix_decay", -2.0f, 1.5f);
      low_rank(b + "time_mix_decay_w");
      vector(b + "channel_mix_lerp_r", 0.5f, 0.3f);
      matrix(b + "channel_mix_receptance", hidden, hidden);
      return;
    }
    tensor(b + "time_mix_lerp_fused.weight", {6, 1, 1, hidden}, 0.5f, 0.3f);
    for (const char* part : {"w", "a", "v"}) {
      vector(b + "time_mix_" + part + "0", 0.0f, 1.0f);
      low_rank(b + "time_mix_" + part);
    }
    low_rank(b + "time_mix_g");
    vector(b + "time_mix_k_k", 0.8f, 0.2f);
    vector(b + "time_mix_k_a", 1.0f, 0.3f);
    vector(b + "time_mix_r_k", 0.0f, 0.3f);
  }

  TinyShape shape_;
  TinyFile file_;
};

inline formats::ModelFile tiny_rwkv_model(const TinyShape& s) { return TinyRwkv(s).take(); }

}  // namespace puna::fixtures
