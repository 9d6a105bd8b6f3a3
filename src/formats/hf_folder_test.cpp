#include "formats/hf_folder.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <map>
#include <vector>

#include "formats/caught_warnings.h"
#include "formats/gguf.h"
#include "formats/open.h"

using namespace puna;
using namespace puna::formats;

namespace {

using Files = std::map<std::string, std::string>;

OpenPart opener(const Files& files) {
  return [&files](const std::string& path) -> base::Result<std::unique_ptr<io::ByteSource>> {
    const auto found = files.find(path.substr(std::string_view("dir/tiny/").size()));
    if (found == files.end())
      return base::fail(base::ErrorCode::kNotFound,
                        fmt::format("The file \"{}\" does not exist.", path));
    const auto bytes = std::as_bytes(std::span(found->second));
    return io::from_memory(path, std::vector<std::byte>(bytes.begin(), bytes.end()));
  };
}

base::Result<ModelFile> load(const Files& files) {
  return base::run_until(load_folder({"dir/tiny/", opener(files)}), [] {});
}

std::string error_of(const Files& files) {
  const auto file = load(files);
  REQUIRE(!file.has_value());
  return file.error().text();
}

// f32 tensors of the values 0, 1, 2, ..
std::string safetensors(const std::vector<std::pair<std::string, std::vector<uint64_t>>>& tensors) {
  std::string header = "{", data;
  for (const auto& [name, shape] : tensors) {
    const size_t begin = data.size();
    uint64_t n = 1;
    std::string dims;
    for (const uint64_t d : shape) {
      n *= d;
      dims += (dims.empty() ? "" : ",") + std::to_string(d);
    }
    for (uint64_t i = 0; i < n; ++i) {
      const auto v = static_cast<float>(i);
      data.append(reinterpret_cast<const char*>(&v), 4);
    }
    header += fmt::format(R"({}"{}":{{"dtype":"F32","shape":[{}],"data_offsets":[{},{}]}})",
                          header.size() > 1 ? "," : "", name, dims, begin, data.size());
  }
  header += "}";
  const uint64_t n = header.size();
  return std::string(reinterpret_cast<const char*>(&n), 8) + header + data;
}

constexpr std::string_view kConfig = R"({
  "model_type": "llama", "num_hidden_layers": 1, "hidden_size": 8, "intermediate_size": 4,
  "num_attention_heads": 2, "num_key_value_heads": 1, "max_position_embeddings": 64,
  "rms_norm_eps": 1e-05, "vocab_size": 3, "rope_theta": 10000, "tie_word_embeddings": true)";

const std::vector<std::pair<std::string, std::vector<uint64_t>>> kTensors = {
    {"model.embed_tokens.weight", {3, 8}},
    {"model.norm.weight", {8}},
    {"model.layers.0.input_layernorm.weight", {8}},
    {"model.layers.0.self_attn.q_proj.weight", {8, 8}},
    {"model.layers.0.self_attn.k_proj.weight", {4, 8}},
    {"model.layers.0.self_attn.v_proj.weight", {4, 8}},
    {"model.layers.0.self_attn.o_proj.weight", {8, 8}},
    {"model.layers.0.post_attention_layernorm.weight", {8}},
    {"model.layers.0.mlp.gate_proj.weight", {4, 8}},
    {"model.layers.0.mlp.up_proj.weight", {4, 8}},
    {"model.layers.0.mlp.down_proj.weight", {8, 4}}};

Files folder(std::string_view more = "") {
  return {{"config.json", fmt::format("{}{}}}", kConfig, more)},
          {"model.safetensors", safetensors(kTensors)}};
}

float first_of_row(const ModelFile& file, const char* name, uint64_t row) {
  const Tensor* tensor = file.find_tensor(name);
  REQUIRE(tensor != nullptr);
  std::byte bytes[4];
  const auto done = base::run_until(
      io::read(*file.sources[tensor->source], tensor->offset + row * tensor->columns() * 4, bytes),
      [] {});
  REQUIRE(done.has_value());
  float value;
  std::memcpy(&value, bytes, 4);
  return value;
}

}  // namespace

TEST_CASE("a folder of Llama weights reads as its GGUF file would") {
  const auto file = load(folder());
  REQUIRE_MESSAGE(file.has_value(), file.error().text());
  CHECK(file->get_string("general.architecture").value() == "llama");
  CHECK(file->get_string("general.name").value() == "tiny");
  CHECK(file->get_uint("llama.block_count").value() == 1);
  CHECK(file->get_uint("llama.attention.head_count_kv").value() == 1);
  CHECK(file->get_float("llama.attention.layer_norm_rms_epsilon").value() == double{1e-5f});
  CHECK(file->tensors.size() == kTensors.size());
  CHECK(file->find_tensor("output.weight") == nullptr);  // tied
  CHECK(file->find_tensor("blk.0.ffn_down.weight")->shape == std::vector<uint64_t>{8, 4});
  // Rows of q, by head of four: 0 2 1 3.
  CHECK(first_of_row(*file, "blk.0.attn_q.weight", 1) == 2 * 8);
  CHECK(first_of_row(*file, "blk.0.attn_q.weight", 2) == 1 * 8);
  CHECK(first_of_row(*file, "blk.0.attn_q.weight", 5) == 6 * 8);
  CHECK(first_of_row(*file, "blk.0.attn_v.weight", 1) == 8);
}

TEST_CASE("bare infinities of Python's json read as absent") {
  CHECK(load(folder(R"(, "time_step_limit": [0.0, Infinity], "x": -Infinity, "y": "\"NaN\"")"))
            .has_value());
}

TEST_CASE("what rope parameters leave out is as transformers has it") {
  const auto loaded = [](std::string_view rope) {
    auto file = load(folder(fmt::format(R"(, "rope_scaling": {})", rope)));
    REQUIRE_MESSAGE(file.has_value(), file.error().text());
    return *std::move(file);
  };
  const auto real = [](const ModelFile& file, const char* key) {
    return file.get_float(fmt::format("llama.rope.scaling.{}", key), 0.0).value();
  };
  const ModelFile untyped = loaded(R"({"factor": 4})");
  CHECK(untyped.get_string("llama.rope.scaling.type").value() == "linear");
  CHECK(real(untyped, "factor") == 4.0);
  CHECK(real(loaded(R"({"type": "linear", "factor": 0})"), "factor") == 1.0);
  const ModelFile yarn = loaded(R"({"type": "yarn", "factor": 4})");
  CHECK(real(yarn, "original_context_length") == 64.0);
  CHECK(real(yarn, "factor") == 4.0);
  const ModelFile no_factor =
      loaded(R"({"rope_type": "yarn", "factor": null, "original_max_position_embeddings": 16})");
  CHECK(real(no_factor, "factor") == 4.0);
}

TEST_CASE("what a folder lacks is named") {
  Files files = folder();
  files.erase("config.json");
  CHECK(error_of(files).find("neither config.json (Hugging Face) nor mlc-chat-config.json") !=
        std::string::npos);
  files = folder();
  files.erase("model.safetensors");
  CHECK(error_of(files).find("neither model.safetensors nor model.safetensors.index.json") !=
        std::string::npos);
  files["model.safetensors.index.json"] = R"({"weight_map":{"x":"part-1.safetensors"}})";
  CHECK(error_of(files).find("\"dir/tiny/part-1.safetensors\" does not exist") !=
        std::string::npos);
}

TEST_CASE("an index of shards takes its tensors from all of them") {
  Files files = folder();
  const std::vector half(kTensors.begin(), kTensors.begin() + 5);
  const std::vector rest(kTensors.begin() + 5, kTensors.end());
  files.erase("model.safetensors");
  files["a.safetensors"] = safetensors(half);
  files["b.safetensors"] = safetensors(rest);
  files["model.safetensors.index.json"] =
      R"({"weight_map":{"x":"a.safetensors","y":"b.safetensors"}})";
  const auto file = load(files);
  REQUIRE_MESSAGE(file.has_value(), file.error().text());
  CHECK(file->tensors.size() == kTensors.size());
  files["b.safetensors"] = safetensors(kTensors);
  CHECK(error_of(files).find("is in the folder twice") != std::string::npos);
}

TEST_CASE("options that are not supported are refused by name") {
  const std::pair<const char*, const char*> cases[] = {
      {R"(, "quantization_config": {"quant_method": "gptq"})", "quantized by \"gptq\""},
      {R"(, "quantization_config": {"quant_method": "awq"})", "quantized by \"awq\""},
      {R"(, "quantization_config": {"quant_method": "fp8"})", "quantized by \"fp8\""},
      {R"(, "rope_scaling": {"type": "dynamic", "factor": 2.0})", "rope type \"dynamic\""},
      {R"(, "rope_scaling": {"rope_type": "longrope"})", "rope type \"longrope\""},
      {R"(, "rope_scaling": 7)", "The key \"rope_scaling\" of config.json is integer"},
      {R"(, "hidden_act": "relu")", "The key \"hidden_act\" of config.json is \"relu\""},
      {R"(, "hidden_size": -8)", "The key \"hidden_size\" of config.json is -8"},
      {R"(, "num_hidden_layers": 1000000)", "\"num_hidden_layers\" of config.json is 1000000"},
      {R"(, "num_attention_heads": 3)", "\"model.layers.0.self_attn.q_proj.weight\" has 8 rows"},
  };
  for (const auto& [more, message] : cases) {
    CAPTURE(more);
    const std::string text = error_of(folder(more));
    CHECK_MESSAGE(text.find(message) != std::string::npos, text);
  }
  Files files = folder(R"(, "model_type": "frog")");
  const std::string text = error_of(files);
  CHECK_MESSAGE(
      text.find("model type \"frog\" of config.json is not supported (supported: apertus") !=
          std::string::npos,
      text);
}

TEST_CASE("what a family needs and config.json has not, or has otherwise, is named") {
  const std::pair<const char*, const char*> cases[] = {
      {R"("apertus")", "Tensor \"model.layers.0.mlp.act_fn.alpha_p\", a number, is missing"},
      {R"("arcee", "hidden_act": "silu")", "The key \"hidden_act\" of config.json is \"silu\""},
      {R"("cohere")", "The key \"logit_scale\" is missing"},
      {R"("cohere2", "logit_scale": 1, "sliding_window": 8, "rotary_pct": 0.5)",
       "The key \"rotary_pct\" of config.json is 0.5"},
      {R"("ernie4_5_moe", "moe_num_experts": 2, "moe_k": 1, "moe_intermediate_size": 4,
          "moe_layer_end_index": 7)",
       "The key \"moe_layer_end_index\" of config.json is 7"},
      {R"("exaone4", "sliding_window": 8, "sliding_window_pattern": "LG")",
       "The key \"sliding_window_pattern\" of config.json is \"LG\""},
      {R"("glm4_moe")", "The key \"n_routed_experts\" is missing"},
      {R"("hunyuan_v1_moe", "num_experts": 4, "moe_topk": [1, 2])",
       "The key \"moe_topk\" of config.json is [1,2]"},
      {R"("hunyuan_v1_dense", "rope_scaling": {"type": "dynamic", "factor": 2.0})",
       "rope type \"dynamic\""},
      {R"("llama4", "num_experts_per_tok": 2)",
       "The key \"num_experts_per_tok\" of config.json is 2"},
      {R"("llama4", "no_rope_layers": [0])",
       "The key \"no_rope_layers\" of config.json has 0 for layer 0"},
      {R"("jamba", "mamba_proj_bias": true)", "The key \"mamba_proj_bias\" of config.json is true"},
      {R"("jamba", "sliding_window": 8)", "The key \"sliding_window\" of config.json is 8"},
      {R"("mamba", "use_bias": true)", "The key \"use_bias\" of config.json is true"},
      {R"("falcon_mamba", "time_step_rank": "some")",
       "The key \"time_step_rank\" of config.json is"},
      {R"("minicpm")", "The key \"scale_emb\" is missing"},
      {R"("minicpm", "scale_emb": 1, "scale_depth": 1, "dim_model_base": 0)",
       "The key \"dim_model_base\" of config.json is 0"},
      {R"("minicpm3", "scale_emb": 1, "scale_depth": 1, "dim_model_base": 1)",
       "The key \"qk_nope_head_dim\" is missing"},
      {R"("minicpm3", "attention_bias": true)",
       "The key \"attention_bias\" of config.json is true"},
      {R"("nemotron_h", "hybrid_override_pattern": "E")", "a layer of the kind \"E\""},
      {R"("nemotron_h", "hybrid_override_pattern": "M-")", "the kinds of 2 layers of 1"},
  };
  for (const auto& [more, message] : cases) {
    CAPTURE(more);
    const std::string text = error_of(folder(fmt::format(R"(, "model_type": {})", more)));
    CHECK_MESSAGE(text.find(message) != std::string::npos, text);
  }
}

namespace {

constexpr std::string_view kModernBert = R"({
  "model_type": "modernbert", "num_hidden_layers": 2, "hidden_size": 8, "intermediate_size": 4,
  "num_attention_heads": 2, "max_position_embeddings": 64, "vocab_size": 3)";
constexpr std::string_view kNomicMoe = R"({
  "model_type": "nomic_bert", "n_layer": 2, "n_embd": 8, "n_inner": 4, "n_head": 2,
  "n_positions": 2048, "vocab_size": 3, "layer_norm_epsilon": 1e-05,
  "activation_function": "gelu", "moe_every_n_layers": 2, "moe_top_k": 1, "num_experts": 2)";

Files encoder(std::string_view config, std::string_view more,
              const std::vector<std::pair<std::string, std::vector<uint64_t>>>& tensors) {
  return {{"config.json", fmt::format("{}{}}}", config, more)},
          {"model.safetensors", safetensors(tensors)}};
}

}  // namespace

TEST_CASE("ModernBERT's folders say which layers see everything in either of two ways") {
  const auto pattern = [](std::string_view more) {
    const auto file =
        load(encoder(kModernBert, more, {{"embeddings.tok_embeddings.weight", {3, 8}}}));
    REQUIRE_MESSAGE(file.has_value(), file.error().text());
    CHECK(file->get_uint("modern-bert.attention.sliding_window").value() == 128);
    return *file->find("modern-bert.attention.sliding_window_pattern");
  };
  CHECK(pattern("") == Value(uint64_t{3}));
  CHECK(pattern(R"(, "global_attn_every_n_layers": 2)") == Value(uint64_t{2}));
  CHECK(pattern(R"(, "layer_types": ["full_attention", "sliding_attention"])") ==
        Value(uint64_t{2}));
  CHECK(pattern(R"(, "layer_types": ["sliding_attention", "full_attention"])") ==
        Value(std::vector<bool>{true, false}));
  const auto old = load(encoder(kModernBert, R"(, "global_rope_theta": 5e4, "local_rope_theta": 7)",
                                {{"embeddings.tok_embeddings.weight", {3, 8}}}));
  REQUIRE(old.has_value());
  CHECK(old->get_float("modern-bert.rope.freq_base").value() == 5e4);
  CHECK(old->get_float("modern-bert.rope.freq_base_swa").value() == 7);
}

TEST_CASE("what encoders of other kinds need is refused by name") {
  const auto error = [](const Files& files) { return error_of(files); };
  const auto has = [](const std::string& text, const char* part) {
    CHECK_MESSAGE(text.find(part) != std::string::npos, text);
  };
  has(error(encoder(kModernBert, R"(, "layer_types": ["full_attention"])", {})),
      "\"layer_types\" of config.json lists 1 layers of 2");
  has(error(
          encoder(kModernBert, R"(, "layer_types": ["full_attention", "chunked_attention"])", {})),
      "has \"chunked_attention\"");
  has(error(encoder(kModernBert, R"(, "classifier_pooling": "mean")",
                    {{"classifier.weight", {1, 8}}})),
      "The key \"classifier_pooling\" of config.json is \"mean\"");
  has(error(encoder(kModernBert, R"(, "architectures": ["ModernBertForTokenClassification"])",
                    {{"classifier.weight", {1, 8}}})),
      "ModernBertForTokenClassification");
  has(error(encoder(kNomicMoe, R"(, "moe_normalize_expert_weights": true)", {})),
      "\"moe_normalize_expert_weights\" of config.json is true");
  has(error(encoder(kNomicMoe, R"(, "num_shared_experts": 1)", {})),
      "\"num_shared_experts\" of config.json is 1");
  has(error(encoder(kNomicMoe, "", {{"encoder.layers.1.mlp.experts.mlp.w1", {9, 8}}})),
      "is not of 2 experts of as many rows");
  has(error(folder(R"(, "model_type": "bert", "position_embedding_type": "alibi",
                      "feed_forward_type": "reglu")")),
      "The key \"feed_forward_type\" of config.json is \"reglu\"");
}

namespace {

constexpr std::string_view kT5 = R"({
  "num_layers": 2, "d_model": 8, "d_kv": 4, "d_ff": 6, "num_heads": 2, "vocab_size": 3,
  "relative_attention_num_buckets": 8)";
constexpr std::string_view kXlmRoberta = R"({
  "model_type": "xlm-roberta", "num_hidden_layers": 1, "hidden_size": 8, "intermediate_size": 4,
  "num_attention_heads": 2, "max_position_embeddings": 7, "vocab_size": 3, "pad_token_id": 1)";

}  // namespace

TEST_CASE("of T5's folders the encoder is read, with the buckets and the gate they say") {
  const std::vector<std::pair<std::string, std::vector<uint64_t>>> tensors = {
      {"shared.weight", {3, 8}},
      {"encoder.embed_tokens.weight", {3, 8}},
      {"encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight", {8, 2}},
      {"encoder.block.0.layer.1.DenseReluDense.wi.weight", {6, 8}},
      {"encoder.final_layer_norm.weight", {8}},
      {"decoder.final_layer_norm.weight", {8}},
      {"decoder.block.0.layer.1.EncDecAttention.q.weight", {8, 8}},
      {"lm_head.weight", {3, 8}}};
  const auto whole = load(encoder(kT5, R"(, "model_type": "t5")", tensors));
  REQUIRE_MESSAGE(whole.has_value(), whole.error().text());
  CHECK(whole->get_string("general.architecture").value() == "t5encoder");
  CHECK(whole->get_uint("t5encoder.context_length").value() == 512);
  CHECK(whole->get_uint("t5encoder.attention.key_length").value() == 4);
  CHECK(whole->get_uint("t5encoder.attention.relative_buckets_count").value() == 8);
  CHECK(whole->find("t5encoder.attention.relative_max_distance") == nullptr);
  CHECK(whole->tensors.size() == 4);
  CHECK(whole->find_tensor("enc.blk.0.ffn_up.weight") != nullptr);
  CHECK(whole->find_tensor("enc.blk.0.attn_rel_b.weight")->type == quant::Type::kF32);
  const auto near = load(encoder(
      kT5, R"(, "model_type": "t5", "n_positions": 99, "relative_attention_max_distance": 20)",
      tensors));
  REQUIRE(near.has_value());
  CHECK(near->get_uint("t5encoder.context_length").value() == 99);
  CHECK(near->get_uint("t5encoder.attention.relative_max_distance").value() == 20);
  const auto has = [&](std::string_view more, const char* part) {
    const std::string text = error_of(encoder(kT5, more, tensors));
    CHECK_MESSAGE(text.find(part) != std::string::npos, text);
  };
  has(R"(, "model_type": "t5", "feed_forward_proj": "gated-silu")",
      "The key \"feed_forward_proj\" of config.json is \"gated-silu\"; relu and gated-gelu are");
  has(R"(, "model_type": "t5", "feed_forward_proj": "gated-gelu")",
      "is \"gated-gelu\", but there is "
      "no tensor \"encoder.block.0.layer.1.DenseReluDense.wi_0.weight\"");
  has(R"(, "model_type": "umt5")", "is \"gated-gelu\", but there is no tensor");
}

TEST_CASE("XLM-RoBERTa's positions begin behind that of the padding") {
  const std::vector<std::pair<std::string, std::vector<uint64_t>>> tensors = {
      {"roberta.embeddings.word_embeddings.weight", {3, 8}},
      {"roberta.embeddings.position_embeddings.weight", {7, 8}},
      {"classifier.dense.weight", {8, 8}},
      {"classifier.out_proj.weight", {1, 8}}};
  const auto file = load(encoder(kXlmRoberta, "", tensors));
  REQUIRE_MESSAGE(file.has_value(), file.error().text());
  CHECK(file->get_string("general.architecture").value() == "bert");
  CHECK(file->get_uint("bert.context_length").value() == 5);
  CHECK(file->get_uint("bert.pooling_type").value() == 4);
  CHECK(file->find_tensor("position_embd.weight")->shape == std::vector<uint64_t>{5, 8});
  CHECK(first_of_row(*file, "position_embd.weight", 0) == 16);
  CHECK(file->find_tensor("cls.output.weight")->shape == std::vector<uint64_t>{1, 8});
  const std::string text = error_of(encoder(kXlmRoberta, "",
                                            {{"embeddings.word_embeddings.weight", {3, 8}},
                                             {"embeddings.position_embeddings.weight", {2, 8}}}));
  CHECK_MESSAGE(text.find("has no rows behind that of the padding, 1") != std::string::npos, text);
}

TEST_CASE("the adapters of JINA Embeddings 3 are left out, and their tasks named") {
  constexpr std::string_view kMore =
      R"(, "position_embedding_type": "rotary", "rotary_emb_base": 7, "lora_adaptations": ["a", "b"])";
  const std::vector<std::pair<std::string, std::vector<uint64_t>>> tensors = {
      {"roberta.embeddings.word_embeddings.parametrizations.weight.original", {3, 8}},
      {"roberta.embeddings.word_embeddings.parametrizations.weight.0.lora_A", {2, 3, 4}},
      {"roberta.encoder.layers.0.mixer.Wqkv.parametrizations.weight.original", {24, 8}},
      {"roberta.encoder.layers.0.mixer.Wqkv.parametrizations.weight.0.lora_B", {2, 24, 4}},
      {"roberta.encoder.layers.0.mixer.Wqkv.bias", {24}}};
  CaughtWarnings warnings;
  const auto file = load(encoder(kXlmRoberta, kMore, tensors));
  REQUIRE_MESSAGE(file.has_value(), file.error().text());
  CHECK(file->get_string("general.architecture").value() == "jina-bert-v3");
  CHECK(file->get_float("jina-bert-v3.rope.freq_base").value() == 7);
  CHECK(file->tensors.size() == 3);
  CHECK(file->find_tensor("blk.0.attn_qkv.weight")->shape == std::vector<uint64_t>{24, 8});
  REQUIRE(!warnings.lines.empty());
  CHECK(warnings.lines[0].find("The adapters of the tasks a, b") != std::string::npos);
  const std::string text = error_of(encoder(
      kXlmRoberta, R"(, "position_embedding_type": "rotary", "truncate_dim": 32)", tensors));
  CHECK_MESSAGE(text.find("The key \"truncate_dim\" of config.json is 32") != std::string::npos,
                text);
}

TEST_CASE("a pooling is one of three, by its name or its flag") {
  const auto with = [](const char* pooling) {
    Files files = encoder(kModernBert, "", {{"embeddings.tok_embeddings.weight", {3, 8}}});
    files["1_Pooling/config.json"] = pooling;
    return files;
  };
  const auto number = [&](const char* pooling) {
    const auto file = load(with(pooling));
    REQUIRE_MESSAGE(file.has_value(), file.error().text());
    return file->get_uint("modern-bert.pooling_type").value();
  };
  CHECK(number(R"({"pooling_mode": "mean"})") == 1);
  CHECK(number(R"({"pooling_mode": ["cls"]})") == 2);
  CHECK(number(R"({"pooling_mode": "lasttoken"})") == 3);
  CHECK(number(R"({"pooling_mode_mean_tokens": true, "pooling_mode_cls_token": false})") == 1);
  for (const char* pooling :
       {R"({"pooling_mode": "max"})", R"({"pooling_mode_max_tokens": true})"}) {
    CHECK(error_of(with(pooling)).find("asks for the pooling \"max\"") != std::string::npos);
  }
  CHECK(error_of(with(R"({"pooling_mode_mean_tokens": true, "pooling_mode_cls_token": true})"))
            .find("asks for the pooling \"mean, cls\"") != std::string::npos);
}

TEST_CASE("the second matrix of Nomic's experts, whose rows are columns, is turned") {
  const auto file = load(encoder(kNomicMoe, "",
                                 {{"encoder.layers.1.mlp.experts.mlp.w1", {8, 8}},
                                  {"encoder.layers.1.mlp.experts.mlp.w2", {8, 8}},
                                  {"encoder.layers.1.mlp.experts.bias", {8}}}));
  REQUIRE_MESSAGE(file.has_value(), file.error().text());
  CHECK(file->get_string("general.architecture").value() == "nomic-bert-moe");
  CHECK(file->get_uint("nomic-bert-moe.context_length").value() == 512);
  CHECK(file->find_tensor("blk.1.ffn_up_exps.weight")->shape == std::vector<uint64_t>{2, 4, 8});
  const Tensor* const down = file->find_tensor("blk.1.ffn_down_exps.weight");
  REQUIRE(down != nullptr);
  CHECK(down->shape == std::vector<uint64_t>{2, 8, 4});
  CHECK(first_of_row(*file, "blk.1.ffn_down_exps.weight", 1) == 1);
  CHECK(first_of_row(*file, "blk.1.ffn_down_exps.weight", 8) == 32);
  CHECK(file->find_tensor("blk.1.ffn_exps.bias") != nullptr);
}

TEST_CASE("products behind a pooling are read where they are without an activation") {
  auto tensors = kTensors;
  for (auto& [name, shape] : tensors) name = name.substr(std::string_view("model.").size());
  Files files = folder(R"(, "model_type": "gemma3_text", "use_bidirectional_attention": true,
                          "query_pre_attn_scalar": 4, "sliding_window": 8)");
  files["model.safetensors"] = safetensors(tensors);
  files["2_Dense/config.json"] =
      R"({"in_features": 8, "activation_function": "torch.nn.modules.linear.Identity"})";
  files["2_Dense/model.safetensors"] = safetensors({{"linear.weight", {6, 8}}});
  const auto file = load(files);
  REQUIRE_MESSAGE(file.has_value(), file.error().text());
  CHECK(file->get_string("general.architecture").value() == "gemma-embedding");
  CHECK(file->get_uint("gemma-embedding.dense_2_feat_out").value() == 6);
  CHECK(file->find_tensor("dense_2.weight")->shape == std::vector<uint64_t>{6, 8});
  CHECK(file->find_tensor("blk.0.attn_q.weight") != nullptr);
  files["2_Dense/config.json"] = R"({"activation_function": "torch.nn.modules.activation.Tanh"})";
  const std::string text = error_of(files);
  CHECK_MESSAGE(text.find("While reading 2_Dense/config.json") != std::string::npos, text);
  CHECK_MESSAGE(text.find("activation.Tanh") != std::string::npos, text);
  // Other families have no place for them.
  Files llama = folder();
  llama["2_Dense/config.json"] = "{}";
  llama["2_Dense/model.safetensors"] = safetensors({{"linear.weight", {6, 8}}});
  CHECK(error_of(llama).find("\"dense_2.weight\"") != std::string::npos);
}

TEST_CASE("a model that answers yes or no is a classifier where README.md says so") {
  Files files = folder(R"(, "model_type": "qwen3")");
  files["tokenizer.json"] = R"({"model": {"type": "BPE", "vocab": {"a": 0, "no": 1, "yes": 2},
    "merges": []}, "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false,
    "use_regex": true}, "decoder": {"type": "ByteLevel"}})";
  const auto plain = load(files);
  REQUIRE_MESSAGE(plain.has_value(), plain.error().text());
  CHECK(plain->find_tensor("cls.output.weight") == nullptr);
  files["README.md"] = "---\nlicense: apache-2.0\n---\n# Qwen3-Reranker-0.6B\n";
  const auto judge = load(files);
  REQUIRE_MESSAGE(judge.has_value(), judge.error().text());
  CHECK(judge->get_uint("qwen3.pooling_type").value() == 4);
  CHECK(judge->find_tensor("cls.output.weight")->shape == std::vector<uint64_t>{2, 8});
  CHECK(first_of_row(*judge, "cls.output.weight", 0) == 2 * 8);
  CHECK(first_of_row(*judge, "cls.output.weight", 1) == 1 * 8);
  CHECK(judge->get_string("tokenizer.chat_template.rerank").value().find("{document}") !=
        std::string::npos);
  files["tokenizer.json"].replace(files["tokenizer.json"].find("yes"), 3, "yeah");
  const std::string text = error_of(files);
  CHECK_MESSAGE(text.find("no token \"yes\"") != std::string::npos, text);
}

TEST_CASE("biases of norms are read, the last norm's as well") {
  auto tensors = kTensors;
  std::erase_if(tensors, [](const auto& each) { return each.first.contains("gate_proj"); });
  tensors.push_back({"model.norm.bias", {8}});
  tensors.push_back({"model.layers.0.input_layernorm.bias", {8}});
  tensors.push_back({"model.layers.0.post_attention_layernorm.bias", {8}});
  Files files = folder(R"(, "model_type": "nemotron", "hidden_act": "relu2")");
  files["model.safetensors"] = safetensors(tensors);
  const auto file = load(files);
  REQUIRE_MESSAGE(file.has_value(), file.error().text());
  CHECK(file->tensors.size() == tensors.size());
  CHECK(file->find_tensor("output_norm.bias") != nullptr);
  CHECK(file->find_tensor("blk.0.attn_norm.bias") != nullptr);
  CHECK(file->find_tensor("blk.0.ffn_norm.bias") != nullptr);
}

namespace {

constexpr std::string_view kAnyFalcon = R"({
  "model_type": "falcon", "num_hidden_layers": 1, "hidden_size": 8, "num_attention_heads": 4,
  "layer_norm_epsilon": 1e-05, "bias": false)";
const std::string kFalcon =
    std::string(kAnyFalcon) + R"(, "num_kv_heads": 2, "new_decoder_architecture": true)";
constexpr std::string_view kGpt2 = R"({
  "model_type": "gpt2", "n_layer": 1, "n_embd": 8, "n_head": 2, "n_positions": 16, "n_inner": null)";

}  // namespace

TEST_CASE("q, k and v that a folder has fused KV head by KV head lie one after the other") {
  const std::string h = "transformer.h.0.";
  const Files files = {
      {"config.json", kFalcon + "}"},
      {"model.safetensors", safetensors({{"transformer.word_embeddings.weight", {3, 8}},
                                         {h + "ln_mlp.weight", {8}},
                                         {h + "ln_attn.weight", {8}},
                                         {h + "self_attention.query_key_value.weight", {16, 8}}})}};
  const auto file = load(files);
  REQUIRE_MESSAGE(file.has_value(), file.error().text());
  CHECK(file->get_uint("falcon.attention.head_count_kv").value() == 2);
  CHECK(file->get_uint("falcon.feed_forward_length").value() == 32);
  CHECK(file->find_tensor("blk.0.attn_norm_2.weight") != nullptr);
  // A head has two rows: two heads of q, one of k, one of v, and so for the other KV head.
  const uint64_t rows[] = {0, 1, 2, 3, 8, 9, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15};
  for (uint64_t i = 0; i < 16; ++i)
    CHECK(first_of_row(*file, "blk.0.attn_qkv.weight", i) == static_cast<float>(rows[i] * 8));
  Files shared = files;  // one KV head: the same rows in the order that they have
  shared["config.json"] = std::string(kAnyFalcon) + R"(, "num_kv_heads": 4, "multi_query": true})";
  CHECK(error_of(shared).find("query_key_value.weight\"") != std::string::npos);
}

TEST_CASE("matrices of GPT-2, which are columns by rows, are turned") {
  std::vector<std::pair<std::string, std::vector<uint64_t>>> tensors = {
      {"wte.weight", {3, 8}},
      {"wpe.weight", {16, 8}},
      {"h.0.attn.c_attn.weight", {8, 24}},
      {"h.0.attn.c_attn.bias", {24}},
      {"h.0.attn.c_proj.weight", {8, 8}},
      {"h.0.attn.bias", {1, 1, 16, 16}},
      {"h.0.mlp.c_fc.weight", {8, 32}},
      {"h.0.mlp.c_proj.weight", {32, 8}}};
  Files files = {{"config.json", std::string(kGpt2) + "}"}};
  files["model.safetensors"] = safetensors(tensors);
  const auto file = load(files);
  REQUIRE_MESSAGE(file.has_value(), file.error().text());
  CHECK(file->find_tensor("blk.0.attn_qkv.weight")->shape == std::vector<uint64_t>{24, 8});
  CHECK(first_of_row(*file, "blk.0.attn_qkv.weight", 5) == 5);
  CHECK(file->find_tensor("blk.0.ffn_down.weight")->shape == std::vector<uint64_t>{8, 32});
  CHECK(file->find_tensor("position_embd.weight")->shape == std::vector<uint64_t>{16, 8});
  tensors[2].second = {24};
  files["model.safetensors"] = safetensors(tensors);
  CHECK(error_of(files).find("\"h.0.attn.c_attn.weight\" has 1 dimensions, not 2") !=
        std::string::npos);
  tensors.erase(tensors.begin() + 2);
  files["model.safetensors"] = safetensors(tensors);
  CHECK(error_of(files).find("Tensor \"h.0.attn.c_attn.weight\" is missing") != std::string::npos);
}

TEST_CASE("options of GPT-2's line that are not supported are refused by name") {
  const auto refused = [](std::string_view config, const char* more) {
    return error_of({{"config.json", fmt::format("{}, {}}}", config, more)},
                     {"model.safetensors", safetensors({{"wte.weight", {3, 8}}})}});
  };
  for (const char* more :
       {R"("alibi": true)", R"("parallel_attn": false)", R"("activation": "relu")"})
    CHECK(refused(kFalcon, more).find("is supported for this model") != std::string::npos);
  for (const char* more : {R"("activation_function": "relu")", R"("scale_attn_weights": false)",
                           R"("scale_attn_by_inverse_layer_idx": true)"})
    CHECK(refused(kGpt2, more).find("is supported for this model") != std::string::npos);
  const char* const none = R"("num_kv_heads": 0, "new_decoder_architecture": true)";
  const char* const uneven = R"("num_kv_heads": 3, "new_decoder_architecture": true)";
  CHECK(refused(kAnyFalcon, none).find("over 0 KV heads") != std::string::npos);
  CHECK(refused(kAnyFalcon, uneven).find("over 3 KV heads") != std::string::npos);
}

TEST_CASE("a tensor that no name is known for is refused") {
  auto tensors = kTensors;
  tensors.emplace_back("model.layers.0.self_attn.extra.weight", std::vector<uint64_t>{2, 2});
  Files files = folder();
  files["model.safetensors"] = safetensors(tensors);
  CHECK(error_of(files).find("\"model.layers.0.self_attn.extra.weight\" of shape [2, 2] is not "
                             "known") != std::string::npos);
}

namespace {

constexpr const char* kPointer =
    "version https://git-lfs.github.com/spec/v1\noid sha256:0123\nsize 98362432\n";

Files with_tokenizer() {
  Files files = folder();
  files["tokenizer.json"] =
      R"({"version":"1.0","added_tokens":[],"normalizer":null,"post_processor":null,)"
      R"("pre_tokenizer":{"type":"ByteLevel","add_prefix_space":false,"use_regex":true},)"
      R"("decoder":{"type":"ByteLevel"},"model":{"type":"BPE","merges":[],)"
      R"("vocab":{"a":0,"b":1,"c":2}}})";
  return files;
}

}  // namespace

TEST_CASE("every list of ids that end a turn counts, but for ids outside the vocabulary") {
  CaughtWarnings warnings;
  const auto ends = [](const Files& files) {
    const auto file = load(files);
    REQUIRE_MESSAGE(file.has_value(), file.error().text());
    REQUIRE(!file->vocabulary_error);
    return file->vocabulary.end_tokens;
  };
  using Ids = std::vector<int32_t>;
  Files files = with_tokenizer();
  CHECK(ends(files) == Ids{});
  files["config.json"] = folder(R"(, "eos_token_id": 1)")["config.json"];
  CHECK(ends(files) == Ids{1});
  files["config.json"] = folder(R"(, "text_config": {"eos_token_id": [2, 0]})")["config.json"];
  CHECK(ends(files) == Ids{2, 0});
  files["generation_config.json"] = R"({"eos_token_id": 1})";
  CHECK(ends(files) == Ids{1, 2, 0});
  files["generation_config.json"] = R"({"eos_token_id": -1})";
  files["tokenizer_config.json"] = R"({"eos_token": {"content": "b"}, "bos_token": "a"})";
  CHECK(ends(files) == Ids{1, 2, 0});
  CHECK(warnings.lines.empty());
  files["generation_config.json"] = R"({"eos_token_id": [1, 99999, "b"]})";
  files["tokenizer_config.json"] = R"({"bos_token": "<s>", "eos_token": 7, "add_bos_token": true})";
  CHECK(ends(files) == Ids{1, 2, 0});
  REQUIRE(warnings.lines.size() == 1);
  CHECK(
      warnings.lines[0] ==
      "Some of what is said of the tokenizer is passed over: the bos_token \"<s>\" is not in the "
      "vocabulary; the eos_token 7 is no text; the eos_token_id 99999 of generation_config.json "
      "is no token of the vocabulary of 3; the eos_token_id \"b\" of generation_config.json is no "
      "token of the vocabulary of 3.");
}

TEST_CASE(
    "a broken file beside the tokenizer is passed over, a broken tokenizer is an error later") {
  const CaughtWarnings warnings;
  Files files = with_tokenizer();
  files["generation_config.json"] = "{";
  files["special_tokens_map.json"] = "[]";
  auto file = load(files);
  REQUIRE_MESSAGE(file.has_value(), file.error().text());
  CHECK(file->vocabulary.tokens.size() == 3);
  CHECK(warnings.lines.size() == 1);
  files["tokenizer.json"] = "{";
  file = load(files);
  REQUIRE_MESSAGE(file.has_value(), file.error().text());
  CHECK(file->vocabulary.tokens.empty());
  REQUIRE(file->vocabulary_error);
  CHECK(warnings.lines.size() == 2);
}

TEST_CASE("a Git LFS pointer is called so, whichever file it stands in for") {
  const CaughtWarnings quiet;
  for (const char* name : {"config.json", "model.safetensors"}) {
    CAPTURE(name);
    Files files = with_tokenizer();
    files[name] = kPointer;
    CHECK(error_of(files).find(fmt::format("{} is only a Git LFS pointer", name)) !=
          std::string::npos);
  }
  Files files = with_tokenizer();
  files["tokenizer.json"] = kPointer;
  const auto file = load(files);
  REQUIRE_MESSAGE(file.has_value(), file.error().text());
  CHECK(file->vocabulary_error.value().message.find("tokenizer.json is only a Git LFS pointer") !=
        std::string::npos);
}

TEST_CASE("of Gemma 4's folders the encoders of pictures and of sounds are read into one file") {
  const auto folder_of = [](std::string_view more, bool clips = true) {
    const std::string audio = "model.audio_tower.", layer = audio + "layers.0.",
                      vision = "model.vision_tower.";
    return Files{
        {"config.json",
         fmt::format(R"({{"model_type": "gemma4", "text_config": {{"hidden_size": 8}},
           "vision_config": {{"patch_size": 2, "num_hidden_layers": 1, "num_attention_heads": 2,
             "use_clipped_linears": {}}},
           "audio_config": {{"num_hidden_layers": 1, "num_attention_heads": 2{}}}}})",
                     clips, more)},
        {"model.safetensors",
         safetensors({{vision + "patch_embedder.input_proj.weight", {8, 12}},
                      {vision + "encoder.layers.0.input_layernorm.weight", {8}},
                      {vision + "encoder.layers.0.mlp.up_proj.linear.weight", {16, 8}},
                      {vision + "encoder.layers.0.mlp.up_proj.output_max", {}},
                      {audio + "subsample_conv_projection.layer0.conv.weight", {4, 1, 3, 3}},
                      {audio + "subsample_conv_projection.layer1.conv.weight", {2, 4, 3, 3}},
                      {audio + "subsample_conv_projection.input_proj_linear.weight", {8, 8}},
                      {layer + "norm_out.weight", {8}},
                      {layer + "feed_forward1.ffw_layer_1.linear.weight", {32, 8}},
                      {layer + "feed_forward1.ffw_layer_1.input_min", {}},
                      {layer + "self_attn.per_dim_scale", {4}},
                      {layer + "lconv1d.depthwise_conv1d.weight", {8, 1, 5}},
                      {"model.embed_audio.embedding_projection.weight", {8, 8}}})}};
  };
  const auto read = [](const Files& files) {
    return base::run_until(load_hf_encoder({"dir/tiny", opener(files)}), [] {});
  };
  const Files files = folder_of("");
  const auto file = read(files);
  REQUIRE_MESSAGE(file.has_value(), file.error().text());
  CHECK(file->get_string("clip.vision.projector_type").value() == "gemma4v");
  CHECK(file->get_string("clip.audio.projector_type").value() == "gemma4a");
  CHECK(file->get_bool("clip.has_audio_encoder", false).value());
  CHECK(file->get_bool("clip.has_vision_encoder", false).value());
  CHECK(file->get_uint("clip.audio.num_mel_bins").value() == 16);
  CHECK(file->get_uint("clip.audio.projection_dim").value() == 8);
  CHECK(file->get_uint("clip.audio.feed_forward_length").value() == 32);
  CHECK(first_of_row(*file, "a.blk.0.per_dim_scale.weight", 0) ==
        doctest::Approx(std::log(2.0)));  // softplus of 0
  REQUIRE(file->find_tensor("a.blk.0.ffn_up.input_min") != nullptr);
  CHECK(file->find_tensor("a.blk.0.ffn_up.input_min")->shape == std::vector<uint64_t>{1});
  REQUIRE(file->find_tensor("a.blk.0.conv_dw.weight") != nullptr);
  CHECK(file->find_tensor("a.blk.0.conv_dw.weight")->shape == std::vector<uint64_t>{8, 5});
  CHECK(file->find_tensor("v.blk.0.ffn_up.weight") != nullptr);
  REQUIRE(file->find_tensor("v.blk.0.ffn_up.output_max") != nullptr);
  CHECK(file->find_tensor("v.blk.0.ffn_up.output_max")->shape == std::vector<uint64_t>{1});

  const auto loose = read(folder_of("", /*clips=*/false));
  REQUIRE_MESSAGE(loose.has_value(), loose.error().text());
  CHECK(loose->find_tensor("v.blk.0.ffn_up.output_max") == nullptr);
  CHECK(loose->find_tensor("a.blk.0.ffn_up.input_min") != nullptr);

  const Files wide = folder_of(R"(, "attention_context_left": 9)");
  const auto refused = read(wide);
  REQUIRE(!refused.has_value());
  CHECK(refused.error().message ==
        "The key \"attention_context_left\" of config.json is 9; only 13 is supported for this "
        "model.");
}
