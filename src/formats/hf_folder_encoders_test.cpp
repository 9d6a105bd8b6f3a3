// Folders of models that embed, rank, see and hear.
#include "formats/caught_warnings.h"
#include "formats/hf_folder_files.h"

using namespace puna;
using namespace puna::formats;
using namespace puna::formats::test;

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

constexpr std::string_view kT5 = R"({
  "num_layers": 2, "d_model": 8, "d_kv": 4, "d_ff": 6, "num_heads": 2, "vocab_size": 3,
  "relative_attention_num_buckets": 8)";
constexpr std::string_view kXlmRoberta = R"({
  "model_type": "xlm-roberta", "num_hidden_layers": 1, "hidden_size": 8, "intermediate_size": 4,
  "num_attention_heads": 2, "max_position_embeddings": 7, "vocab_size": 3, "pad_token_id": 1)";

}  // namespace

TEST_CASE("ModernBERT's folders say which layers see everything in either of two ways") {
  const auto pattern = [](std::string_view more) {
    const auto file =
        load_files(encoder(kModernBert, more, {{"embeddings.tok_embeddings.weight", {3, 8}}}));
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
  const auto old =
      load_files(encoder(kModernBert, R"(, "global_rope_theta": 5e4, "local_rope_theta": 7)",
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
  const auto whole = load_files(encoder(kT5, R"(, "model_type": "t5")", tensors));
  REQUIRE_MESSAGE(whole.has_value(), whole.error().text());
  CHECK(whole->get_string("general.architecture").value() == "t5encoder");
  CHECK(whole->get_uint("t5encoder.context_length").value() == 512);
  CHECK(whole->get_uint("t5encoder.attention.key_length").value() == 4);
  CHECK(whole->get_uint("t5encoder.attention.relative_buckets_count").value() == 8);
  CHECK(whole->find("t5encoder.attention.relative_max_distance") == nullptr);
  CHECK(whole->tensors.size() == 4);
  CHECK(whole->find_tensor("enc.blk.0.ffn_up.weight") != nullptr);
  CHECK(whole->find_tensor("enc.blk.0.attn_rel_b.weight")->type == quant::Type::kF32);
  const auto near = load_files(encoder(
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
  const auto file = load_files(encoder(kXlmRoberta, "", tensors));
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
  const auto file = load_files(encoder(kXlmRoberta, kMore, tensors));
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
    const auto file = load_files(with(pooling));
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
  const auto file = load_files(encoder(kNomicMoe, "",
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
  const auto file = load_files(files);
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
  const auto plain = load_files(files);
  REQUIRE_MESSAGE(plain.has_value(), plain.error().text());
  CHECK(plain->find_tensor("cls.output.weight") == nullptr);
  files["README.md"] = "---\nlicense: apache-2.0\n---\n# Qwen3-Reranker-0.6B\n";
  const auto judge = load_files(files);
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
