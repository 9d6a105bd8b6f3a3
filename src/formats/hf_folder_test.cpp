#include <cmath>

#include "formats/caught_warnings.h"
#include "formats/gguf.h"
#include "formats/hf_folder_files.h"

using namespace puna;
using namespace puna::formats;
using namespace puna::formats::test;

TEST_CASE("a folder of Llama weights reads as its GGUF file would") {
  const auto file = load_files(folder());
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
  CHECK(
      load_files(folder(R"(, "time_step_limit": [0.0, Infinity], "x": -Infinity, "y": "\"NaN\"")"))
          .has_value());
}

TEST_CASE("what rope parameters leave out is as transformers has it") {
  const auto loaded = [](std::string_view rope) {
    auto file = load_files(folder(fmt::format(R"(, "rope_scaling": {})", rope)));
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
  const auto file = load_files(files);
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

TEST_CASE("biases of norms are read, the last norm's as well") {
  auto tensors = kTensors;
  std::erase_if(tensors, [](const auto& each) { return each.first.contains("gate_proj"); });
  tensors.push_back({"model.norm.bias", {8}});
  tensors.push_back({"model.layers.0.input_layernorm.bias", {8}});
  tensors.push_back({"model.layers.0.post_attention_layernorm.bias", {8}});
  Files files = folder(R"(, "model_type": "nemotron", "hidden_act": "relu2")");
  files["model.safetensors"] = safetensors(tensors);
  const auto file = load_files(files);
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
  const auto file = load_files(files);
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
  const auto file = load_files(files);
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
    const auto file = load_files(files);
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
  CHECK(warnings.lines[0] ==
        "Some of what is said of the tokenizer is passed over: the bos_token \"<s>\" is not in the "
        "vocabulary; the eos_token 7 is no text; the eos_token_id 99999 of generation_config.json "
        "is no token of the vocabulary of 3 (the first of 2 such ids).");
}

TEST_CASE(
    "a broken file beside the tokenizer is passed over, a broken tokenizer is an error later") {
  const CaughtWarnings warnings;
  Files files = with_tokenizer();
  files["generation_config.json"] = "{";
  files["special_tokens_map.json"] = "[]";
  auto file = load_files(files);
  REQUIRE_MESSAGE(file.has_value(), file.error().text());
  CHECK(file->vocabulary.tokens.size() == 3);
  CHECK(warnings.lines.size() == 1);
  files["tokenizer.json"] = "{";
  file = load_files(files);
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
  const auto file = load_files(files);
  REQUIRE_MESSAGE(file.has_value(), file.error().text());
  CHECK(file->vocabulary_error.value().message.find("tokenizer.json is only a Git LFS pointer") !=
        std::string::npos);
}
