#include "quant/mix.h"

#include <doctest/doctest.h>

#include <set>
#include <string>

using namespace puna::quant;

namespace {

Type layer_type(std::string_view mix, std::string_view tensor, int layer, const MixModel& model,
                uint64_t columns = 2048) {
  const std::string name = "blk." + std::to_string(layer) + "." + std::string(tensor) + ".weight";
  return type_of(*find_mix(mix), name, layer, columns, model);
}

// The layers in which `tensor` gets `type`.
std::set<int> layers_with(std::string_view mix, std::string_view tensor, Type type,
                          const MixModel& model) {
  std::set<int> layers;
  for (int i = 0; i < model.n_layers; ++i) {
    if (layer_type(mix, tensor, i, model) == type) layers.insert(i);
  }
  return layers;
}

}  // namespace

TEST_CASE("mixes are found by name, in any case, and short K names mean medium") {
  CHECK(find_mix("Q4_K_M")->base == Type::kQ4_K);
  CHECK(find_mix("q4_k") == find_mix("q4_k_m"));
  CHECK(find_mix("q5_K") == find_mix("q5_k_m"));
  CHECK(find_mix("q6_k")->gguf_file_type == 18);
  CHECK(find_mix("iq2_xxs") == nullptr);
  CHECK(find_mix("") == nullptr);
  CHECK(find_mix("a name longer than any mix") == nullptr);
  for (const Mix& mix : mixes()) CHECK(find_mix(mix.name) == &mix);
}

TEST_CASE("q4_k_m gives attn_v and ffn_down of sensitive layers six bits") {
  const MixModel model{.n_layers = 16, .tied_embeddings = true, .n_gqa = 4};  // Llama-3.2-1B
  const std::set<int> sensitive = {0, 1, 4, 7, 10, 13, 14, 15};
  CHECK(layers_with("q4_k_m", "attn_v", Type::kQ6_K, model) == sensitive);
  CHECK(layers_with("q4_k_m", "ffn_down", Type::kQ6_K, model) == sensitive);
  CHECK(layers_with("q4_k_m", "attn_q", Type::kQ4_K, model).size() == 16);
  CHECK(layers_with("q4_k_m", "attn_output", Type::kQ4_K, model).size() == 16);
  CHECK(layers_with("q4_k_m", "ffn_up", Type::kQ4_K, model).size() == 16);
  CHECK(layers_with("q5_k_m", "ffn_down", Type::kQ6_K, model) == sensitive);
  CHECK(layers_with("q4_k_s", "attn_v", Type::kQ5_K, model) == std::set<int>{0, 1, 2, 3});
  CHECK(layers_with("q4_k_s", "ffn_down", Type::kQ5_K, model) == std::set<int>{0, 1});
}

TEST_CASE("q2_k and q3_k_m raise attention values and outputs") {
  MixModel model{.n_layers = 32, .n_gqa = 4};
  CHECK(layer_type("q2_k", "attn_v", 5, model) == Type::kQ4_K);
  CHECK(layer_type("q2_k", "ffn_down", 5, model) == Type::kQ3_K);
  CHECK(layer_type("q2_k", "attn_output", 5, model) == Type::kQ3_K);
  CHECK(layer_type("q2_k", "attn_q", 5, model) == Type::kQ2_K);
  CHECK(layers_with("q3_k_m", "attn_v", Type::kQ5_K, model) == std::set<int>{0, 1});
  CHECK(layers_with("q3_k_m", "ffn_down", Type::kQ5_K, model) == std::set<int>{0, 1});
  CHECK(layer_type("q3_k_m", "attn_output", 9, model) == Type::kQ4_K);
  model.n_gqa = 1;
  CHECK(layer_type("q2_k", "attn_v", 5, model) == Type::kQ3_K);
}

TEST_CASE("the head gets q6_k, tied embeddings too, but plain embeddings the mix's own type") {
  for (const char* name : {"q4_0", "q4_k_m", "q2_k", "q5_1"}) {
    CAPTURE(name);
    const Mix& mix = *find_mix(name);
    CHECK(type_of(mix, "output.weight", 0, 2048, {}) == Type::kQ6_K);
    CHECK(type_of(mix, "token_embd.weight", 0, 2048, {.tied_embeddings = true}) == Type::kQ6_K);
    CHECK(type_of(mix, "token_embd.weight", 0, 2048, {}) == mix.base);
  }
  CHECK(type_of(*find_mix("q8_0"), "output.weight", 0, 2048, {}) == Type::kQ8_0);
  CHECK(type_of(*find_mix("f16"), "output.weight", 0, 2048, {}) == Type::kF16);
}

TEST_CASE("rows that a block does not divide fall back to a type that fits") {
  const MixModel model{.n_layers = 30, .tied_embeddings = true};  // SmolLM2-135M has rows of 576
  CHECK(layer_type("q4_k_m", "attn_q", 5, model, 576) == Type::kQ5_0);
  CHECK(layer_type("q5_k_m", "attn_q", 5, model, 576) == Type::kQ5_1);
  CHECK(layer_type("q6_k", "attn_q", 5, model, 576) == Type::kQ8_0);
  CHECK(layer_type("q2_k", "attn_q", 5, model, 576) == Type::kQ4_0);
  CHECK(type_of(*find_mix("q4_k_m"), "token_embd.weight", 0, 576, model) == Type::kQ8_0);
  CHECK(layer_type("q4_0", "attn_q", 5, model, 100) == Type::kF16);
}

TEST_CASE("eight experts double what attention keeps") {
  const MixModel model{.n_layers = 32, .n_experts = 8, .n_gqa = 4};
  CHECK(layer_type("q4_k_m", "attn_v", 3, model) == Type::kQ8_0);
  CHECK(layer_type("q4_k_m", "attn_k", 3, model) == Type::kQ8_0);
  CHECK(layer_type("q4_k_m", "attn_output", 3, model) == Type::kQ5_K);
}

TEST_CASE("vectors, norms, routers and small tables stay as they are") {
  CHECK(is_mixed("blk.0.attn_q.weight", 2));
  CHECK(is_mixed("blk.0.ffn_up_exps.weight", 3));
  CHECK(is_mixed("token_embd.weight", 2));
  CHECK(!is_mixed("blk.0.attn_norm.weight", 1));
  CHECK(!is_mixed("blk.0.attn_q_norm.weight", 2));
  CHECK(!is_mixed("blk.0.attn_q.bias", 2));
  CHECK(!is_mixed("blk.0.ffn_gate_inp.weight", 2));
  CHECK(!is_mixed("blk.0.ssm_conv1d.weight", 2));
  CHECK(!is_mixed("position_embd.weight", 2));
  CHECK(!is_mixed("blk.0.time_mix_lerp_fused.weight", 2));
  CHECK(!is_mixed("blk.0.time_mix_decay_w2.weight", 2));
  CHECK(is_mixed("blk.0.time_mix_key.weight", 2));
}
