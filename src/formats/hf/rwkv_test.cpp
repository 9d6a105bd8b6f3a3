#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "formats/hf_folder.h"

using namespace puna;
using namespace puna::formats;

namespace {

// Every tensor holds 0, 1, 2, ...
using Shapes = std::map<std::string, std::vector<uint64_t>>;

constexpr uint64_t kHidden = 8, kHead = 4, kFfn = 12, kVocab = 5;

void norm(Shapes& shapes, const std::string& name) {
  shapes[name + ".weight"] = {kHidden};
  shapes[name + ".bias"] = {kHidden};
}

// Two layers, the second one halved; ranks of 2 and 3.
Shapes rwkv6() {
  Shapes s = {{"rwkv.embeddings.weight", {kVocab, kHidden}}, {"head.weight", {kVocab, kHidden}}};
  norm(s, "rwkv.blocks.0.pre_ln");
  norm(s, "rwkv.ln_out");
  for (const std::string p : {"rwkv.blocks.0.", "rwkv.blocks.1."}) {
    for (const char* name : {"ln1", "ln2", "attention.ln_x"}) norm(s, p + name);
    for (const char* letter : {"x", "w", "k", "v", "r", "g"})
      s[p + "attention.time_maa_" + letter] = {1, 1, kHidden};
    s[p + "attention.time_maa_w1"] = {kHidden, 10};
    s[p + "attention.time_maa_w2"] = {5, 2, kHidden};
    s[p + "attention.time_decay"] = {1, 1, kHidden};
    s[p + "attention.time_decay_w1"] = {kHidden, 3};
    s[p + "attention.time_decay_w2"] = {3, kHidden};
    s[p + "attention.time_faaaa"] = {kHidden / kHead, kHead};
    for (const char* name : {"receptance", "key", "value", "gate", "output"})
      s[p + "attention." + name + ".weight"] = {kHidden, kHidden};
    s[p + "feed_forward.time_maa_k"] = {1, 1, kHidden};
    s[p + "feed_forward.time_maa_r"] = {1, 1, kHidden};
    s[p + "feed_forward.key.weight"] = {kFfn, kHidden};
    s[p + "feed_forward.receptance.weight"] = {kHidden, kHidden};
    s[p + "feed_forward.value.weight"] = {kHidden, kFfn};
  }
  return s;
}
const std::map<std::string, std::string> kRwkv6 = {{"architectures", R"(["Rwkv6ForCausalLM"])"},
                                                   {"model_type", R"("rwkv6")"},
                                                   {"num_hidden_layers", "2"},
                                                   {"hidden_size", "8"},
                                                   {"attention_hidden_size", "8"},
                                                   {"head_size", "4"},
                                                   {"head_size_divisor", "8"},
                                                   {"num_attention_heads", "64"},
                                                   {"intermediate_size", "null"},
                                                   {"layer_norm_epsilon", "1e-5"},
                                                   {"rescale_every", "1"},
                                                   {"vocab_size", "5"}};

// In RWKV's own names, or in those of flash-linear-attention; ranks of 2, of the gate 3.
Shapes rwkv7(bool fla) {
  Shapes s = {{"model.embeddings.weight", {kVocab, kHidden}},
              {fla ? "lm_head.weight" : "head.weight", {kVocab, kHidden}}};
  norm(s, fla ? "model.layers.0.pre_norm" : "model.pre_ln");
  norm(s, fla ? "model.norm" : "model.ln_out");
  for (uint32_t l = 0; l < 2; ++l) {
    const std::string p = fmt::format("model.{}.{}.", fla ? "layers" : "blocks", l);
    const std::string a = p + (fla ? "attn." : "attention.");
    const std::string f = p + (fla ? "ffn." : "feed_forward.");
    norm(s, p + (fla ? "attn_norm" : "ln1"));
    norm(s, p + (fla ? "ffn_norm" : "ln2"));
    norm(s, a + (fla ? "g_norm" : "ln_x"));
    for (const char* letter : {"r", "w", "k", "v", "a", "g"})
      s[a + "x_" + letter] = {1, 1, kHidden};
    for (const std::string letter : {"w", "a", "v", "g"}) {
      const uint64_t rank = letter == "g" ? 3 : 2;
      if (fla) {
        if (letter == "v" && l == 0) continue;
        s[a + letter + "_lora.lora.0.weight"] = {rank, kHidden};
        s[a + letter + "_lora.lora.2.weight"] = {kHidden, rank};
        if (letter != "g") s[a + letter + "_lora.lora.2.bias"] = {kHidden};
      } else {
        s[a + letter + "1"] = {kHidden, rank};
        s[a + letter + "2"] = {rank, kHidden};
        if (letter != "g") s[a + letter + "0"] = {1, 1, kHidden};
      }
    }
    s[a + "k_k"] = s[a + "k_a"] = {1, 1, kHidden};
    s[a + "r_k"] = {kHidden / kHead, kHead};
    const char* const names[][2] = {
        {"receptance", "r_proj"}, {"key", "k_proj"}, {"value", "v_proj"}, {"output", "o_proj"}};
    for (const auto& name : names) s[a + name[fla ? 1 : 0] + ".weight"] = {kHidden, kHidden};
    s[f + "x_k"] = {1, 1, kHidden};
    s[f + "key.weight"] = {kFfn, kHidden};
    s[f + "value.weight"] = {kHidden, kFfn};
  }
  return s;
}
std::map<std::string, std::string> rwkv7_config(bool fla) {
  std::map<std::string, std::string> c = {
      {"model_type", R"("rwkv7")"}, {"num_hidden_layers", "2"},       {"hidden_size", "8"},
      {"intermediate_size", "12"},  {"tie_word_embeddings", "false"}, {"vocab_size", "5"}};
  if (fla) {
    c.insert({{"architectures", R"(["RWKV7ForCausalLM"])"},
              {"head_dim", "4"},
              {"num_heads", "32"},
              {"norm_eps", "1.6e-4"},
              {"attn", "null"},
              {"norm_first", "true"},
              {"norm_bias", "true"},
              {"hidden_act", R"("sqrelu")"},
              {"value_dim", "[8, 8]"},
              {"decay_low_rank_dim", "2"},
              {"a_low_rank_dim", "2"},
              {"v_low_rank_dim", "2"},
              {"gate_low_rank_dim", "3"}});
  } else {
    c.insert({{"architectures", R"(["Rwkv7ForCausalLM"])"},
              {"head_size", "4"},
              {"layer_norm_epsilon", "1e-5"},
              {"lora_rank_decay", "null"},
              {"lora_rank_gate", "3"}});
  }
  return c;
}

base::Result<ModelFile> map(const std::map<std::string, std::string>& keys, const Shapes& shapes) {
  std::string text = "{";
  for (const auto& [key, value] : keys)
    text += fmt::format("{}\"{}\":{}", text.size() > 1 ? "," : "", key, value);
  auto config = hf::Config::parse(text + "}");
  REQUIRE_MESSAGE(config.has_value(), config.error().text());
  RawModel raw;
  std::vector<std::byte> bytes;
  for (const auto& [name, shape] : shapes) {
    RawTensor tensor{name, quant::Type::kF32, "F32", shape, 0, bytes.size(), 0};
    uint64_t n = 1;
    for (const uint64_t d : shape) n *= d;
    tensor.bytes = n * sizeof(float);
    for (uint64_t i = 0; i < n; ++i) {
      const auto value = static_cast<float>(i);
      const auto* from = reinterpret_cast<const std::byte*>(&value);
      bytes.insert(bytes.end(), from, from + sizeof(value));
    }
    raw.tensors.push_back(std::move(tensor));
  }
  raw.sources.push_back(io::from_memory("weights", std::move(bytes)));
  return map_hf_model("tiny", *std::move(config), std::move(raw));
}

ModelFile mapped(const std::map<std::string, std::string>& keys, const Shapes& shapes) {
  auto file = map(keys, shapes);
  REQUIRE_MESSAGE(file.has_value(), file.error().text());
  return *std::move(file);
}

std::vector<float> values(const ModelFile& file, const std::string& name) {
  const Tensor* tensor = file.find_tensor(name);
  REQUIRE_MESSAGE(tensor != nullptr, name);
  std::vector<float> out(static_cast<size_t>(tensor->bytes / sizeof(float)));
  const auto done = base::run_until(io::read(*file.sources[tensor->source], tensor->offset,
                                             std::as_writable_bytes(std::span(out))),
                                    [] {});
  REQUIRE(done.has_value());
  return out;
}

// [rows, columns] of 0, 1, 2, ..., turned.
std::vector<float> turned(uint64_t rows, uint64_t columns) {
  std::vector<float> out;
  for (uint64_t c = 0; c < columns; ++c) {
    for (uint64_t r = 0; r < rows; ++r) out.push_back(static_cast<float>(r * columns + c));
  }
  return out;
}

void check_error(std::map<std::string, std::string> keys, const Shapes& shapes,
                 const std::string& key, const char* value, std::string_view wanted) {
  CAPTURE(key);
  if (value) {
    keys[key] = value;
  } else {
    keys.erase(key);
  }
  const auto file = map(keys, shapes);
  REQUIRE(!file.has_value());
  CHECK_MESSAGE(file.error().text().find(wanted) != std::string::npos, file.error().text());
}

std::string error_of(const std::map<std::string, std::string>& keys, const Shapes& shapes) {
  const auto file = map(keys, shapes);
  REQUIRE(!file.has_value());
  return file.error().text();
}

}  // namespace

TEST_CASE("a folder of RWKV-6 reads as its GGUF file would") {
  const ModelFile file = mapped(kRwkv6, rwkv6());
  CHECK(file.get_string("general.architecture").value() == "rwkv6");
  CHECK(file.get_uint("rwkv6.block_count").value() == 2);
  CHECK(file.get_uint("rwkv6.wkv.head_size").value() == kHead);
  CHECK(file.get_uint("rwkv6.feed_forward_length").value() == kFfn);
  CHECK(file.get_uint("rwkv6.time_mix_extra_dim").value() == 2);
  CHECK(file.get_uint("rwkv6.time_decay_extra_dim").value() == 3);
  CHECK(file.get_uint("rwkv6.rescale_every_n_layers").value() == 1);
  const Tensor* fused = file.find_tensor("blk.1.time_mix_lerp_fused.weight");
  REQUIRE(fused != nullptr);
  CHECK(fused->shape == std::vector<uint64_t>{5, 1, 1, kHidden});
  CHECK(file.find_tensor("blk.0.time_mix_decay.weight")->shape == std::vector<uint64_t>{kHidden});
  CHECK(values(file, "blk.0.time_mix_w1.weight") == turned(kHidden, 10));
  CHECK(values(file, "blk.0.time_mix_decay_w1.weight") == turned(kHidden, 3));
  CHECK(values(file, "blk.0.time_mix_decay_w2.weight") == turned(3, kHidden));
  CHECK(file.find_tensor("blk.0.time_mix_w2.weight")->shape ==
        std::vector<uint64_t>{5, kHidden, 2});
  const std::vector<float> w2 = values(file, "blk.0.time_mix_w2.weight");
  CHECK(w2[1] == kHidden);          // the second of the rank, first column
  CHECK(w2[2 * kHidden] == 16.0f);  // the second part
  // The second layer's share of a stream that has been halved once.
  for (const std::string name : {"time_mix_output", "channel_mix_value"}) {
    CHECK(values(file, "blk.0." + name + ".weight")[2] == 2.0f);
    CHECK(values(file, "blk.1." + name + ".weight")[2] == 1.0f);
  }
  CHECK(values(file, "blk.1.time_mix_value.weight")[2] == 2.0f);
  CHECK(file.find_tensor("token_embd_norm.bias") != nullptr);
  CHECK(file.find_tensor("output.weight") != nullptr);
}

TEST_CASE("the parts of RWKV's token shift come in the order of GGUF") {
  Shapes shapes = rwkv6();
  shapes["rwkv.blocks.0.attention.time_maa_w"] = {1, 1, 1};
  CHECK(error_of(kRwkv6, shapes).find("attention.time_maa_w\" has 1 elements, but the 8") !=
        std::string::npos);
  // RWKV-7's parts in one tensor are the same as apart.
  for (const bool fla : {false, true}) {
    Shapes apart = rwkv7(fla);
    const std::string time = fla ? "model.layers.1.attn." : "model.blocks.1.attention.";
    for (const char* letter : {"r", "w", "k", "v", "a", "g"}) apart.erase(time + "x_" + letter);
    apart[time + "x_x"] = {6, kHidden};
    const ModelFile file = mapped(rwkv7_config(fla), apart);
    CHECK(file.find_tensor("blk.1.time_mix_lerp_fused.weight")->shape ==
          std::vector<uint64_t>{6, 1, 1, kHidden});
    CHECK(values(file, "blk.1.time_mix_lerp_fused.weight")[kHidden] == kHidden);
  }
}

TEST_CASE("both dialects of RWKV-7's folders read as their GGUF file would") {
  for (const bool fla : {false, true}) {
    CAPTURE(fla);
    const ModelFile file = mapped(rwkv7_config(fla), rwkv7(fla));
    CHECK(file.get_string("general.architecture").value() == "rwkv7");
    CHECK(file.get_uint("rwkv7.wkv.head_size").value() == kHead);
    CHECK(file.get_uint("rwkv7.attention.decay_lora_rank").value() == 2);
    CHECK(file.get_uint("rwkv7.attention.value_residual_mix_lora_rank").value() == 2);
    CHECK(file.get_uint("rwkv7.attention.gate_lora_rank").value() == 3);
    // Turned where they are stored so.
    std::vector<float> straight(3 * kHidden);
    for (size_t i = 0; i < straight.size(); ++i) straight[i] = static_cast<float>(i);
    CHECK(values(file, "blk.1.time_mix_g1.weight") == (fla ? straight : turned(kHidden, 3)));
    CHECK(values(file, "blk.1.time_mix_g2.weight") == (fla ? straight : turned(3, kHidden)));
    CHECK(file.find_tensor("blk.1.time_mix_g1.weight")->shape == std::vector<uint64_t>{3, kHidden});
    CHECK(file.find_tensor("blk.1.time_mix_w0.weight")->shape == std::vector<uint64_t>{kHidden});
    CHECK(file.find_tensor("blk.1.time_mix_r_k.weight")->shape == std::vector<uint64_t>{kHidden});
    CHECK(file.find_tensor("blk.0.time_mix_v1.weight") != nullptr);  // for llama.cpp
    CHECK(file.find_tensor("blk.0.attn_norm_2.bias") != nullptr);
    CHECK(file.find_tensor("output_norm.weight") != nullptr);
    CHECK(file.find_tensor("output.weight") != nullptr);
  }
}

TEST_CASE("keys of RWKV's folders are checked by name") {
  const Shapes six = rwkv6(), seven = rwkv7(false), fla = rwkv7(true);
  const auto bad_six = [&](const char* key, const char* value, std::string_view wanted) {
    check_error(kRwkv6, six, key, value, wanted);
  };
  for (const char* key :
       {"head_size", "layer_norm_epsilon", "rescale_every", "num_hidden_layers", "hidden_size"})
    bad_six(key, nullptr, fmt::format("The key \"{}\" is missing", key));
  bad_six("architectures", R"(["RWKV6ForCausalLM"])",
          "\"architectures\" of config.json says RWKV6F");
  bad_six("architectures", "7", "\"architectures\"");
  bad_six("head_size", "0", "\"head_size\" of config.json gives heads of 0");
  bad_six("head_size", "3", "\"head_size\" of config.json gives heads of 3");
  bad_six("head_size", "8", "\"head_size\" of config.json is 8, but the tensor");
  bad_six("head_size", "-4", "\"head_size\"");
  bad_six("head_size_divisor", "4", "\"head_size_divisor\" of config.json is 4");
  bad_six("attention_hidden_size", "16", "\"attention_hidden_size\" of config.json is 16");
  bad_six("intermediate_size", "13", "\"intermediate_size\" of config.json is 13, but the tensor");
  bad_six("rescale_every", "\"6\"", "\"rescale_every\"");
  bad_six("hidden_size", "0", "\"hidden_size\"");
  bad_six("layer_norm_epsilon", "true", "\"layer_norm_epsilon\"");
  bad_six("num_hidden_layers", "4096", "\"rescale_every\" of config.json is 1, which halves");

  const auto bad_fla = [&](const char* key, const char* value, std::string_view wanted) {
    check_error(rwkv7_config(true), fla, key, value, wanted);
  };
  bad_fla("norm_eps", nullptr, "The key \"norm_eps\" is missing");
  bad_fla("norm_eps", "1e-5", "\"norm_eps\" and \"head_dim\"");
  bad_fla("attn", R"({"layers": [1]})", "\"attn\" of config.json is");
  bad_fla("norm_first", "false", "\"norm_first\" of config.json is false");
  bad_fla("norm_bias", "false", "\"norm_bias\" of config.json is false");
  bad_fla("hidden_act", "\"relu\"", "\"hidden_act\" of config.json is \"relu\"");
  bad_fla("value_dim", "[8, 16]", "\"value_dim\" of config.json has 16");
  bad_fla("v_low_rank_dim", "3", "\"v_low_rank_dim\" of config.json is 3, but the tensor");
  bad_fla("wkv_has_gate", "false", "model.layers.0.attn.g_lora.lora.0.weight");
  auto no_head = rwkv7_config(true);
  no_head.erase("num_heads");
  check_error(no_head, fla, "head_dim", nullptr, "The key \"head_dim\" is missing");
  no_head["num_heads"] = "2";  // which says as much
  no_head.erase("head_dim");
  CHECK(mapped(no_head, fla).get_uint("rwkv7.wkv.head_size").value() == kHead);

  const auto bad_seven = [&](const char* key, const char* value, std::string_view wanted) {
    check_error(rwkv7_config(false), seven, key, value, wanted);
  };
  bad_seven("lora_rank_gate", "4", "\"lora_rank_gate\" of config.json is 4, but the tensor");
  bad_seven("group_norm_epsilon", "1e-5", "\"group_norm_epsilon\" of config.json is");
  bad_seven("qkv_size", "256", "\"qkv_size\" of config.json is 256");
  bad_seven("feed_forward_embed_size", "64", "\"feed_forward_embed_size\" of config.json is 64");
  bad_seven("embedding_layer_norm_fused", "true", "\"embedding_layer_norm_fused\"");
  bad_seven("architectures", R"(["Rwkv7Model"])", "RWKV7ForCausalLM and Rwkv7ForCausalLM");
}

TEST_CASE("tensors of RWKV's folders that lack, are too many or called otherwise are named") {
  Shapes shapes = rwkv6();
  shapes.erase("rwkv.blocks.1.attention.time_maa_w2");
  CHECK(error_of(kRwkv6, shapes).find("\"rwkv.blocks.1.attention.time_maa_w2\" is missing") !=
        std::string::npos);
  shapes = rwkv6();
  shapes["rwkv.blocks.0.attention.time_maa_w1"] = {kHidden * 10};
  CHECK(error_of(kRwkv6, shapes).find("time_maa_w1\" has 1 dimensions, but 2") !=
        std::string::npos);
  shapes = rwkv7(true);
  shapes["model.layers.0.ffn.s0"] = {kFfn};
  CHECK(error_of(rwkv7_config(true), shapes).find("\"model.layers.0.ffn.s0\"") !=
        std::string::npos);
  // As transformers calls them.
  Shapes renamed;
  for (const auto& [name, shape] : rwkv7(false)) {
    const size_t at = name.find(".attention.");
    renamed[at == std::string::npos ? name : name.substr(0, at) + ".att." + name.substr(at + 11)] =
        shape;
  }
  CHECK(error_of(rwkv7_config(false), renamed).find("\"model.blocks.0.attention.k_k\" (RWKV)") !=
        std::string::npos);
}
