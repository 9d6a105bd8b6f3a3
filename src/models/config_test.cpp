// The keys of architectures in the forms that files have them.
#include <doctest/doctest.h>

#include <algorithm>

#include "models/models.h"
#include "models/testing/tiny_model.h"
#include "models/testing/tiny_rwkv.h"
#include "models/windows.h"

using namespace puna;
using formats::Value;

namespace {

// A tiny model whose keys, behind the architecture's name, can be changed.
class Model {
 public:
  explicit Model(const char* architecture, uint32_t n_layers = 2) {
    fixtures::TinyShape shape;
    shape.architecture = architecture;
    shape.n_layers = n_layers;
    file_ = shape.architecture.starts_with("rwkv") ? fixtures::tiny_rwkv_model(shape)
                                                   : fixtures::tiny_model(shape);
    prefix_ = shape.architecture + ".";
  }
  Model& set(const std::string& key, Value value) {
    std::erase_if(file_.metadata, [&](const auto& pair) { return pair.first == prefix_ + key; });
    file_.metadata.emplace_back(prefix_ + key, std::move(value));
    return *this;
  }
  const formats::ModelFile& file() const { return file_; }
  base::Result<models::Config> config() const { return models::read_config(file_); }
  Model& without(const std::string& tensor) {
    std::erase_if(file_.tensors, [&](const auto& t) { return t.name == tensor; });
    file_.index();
    return *this;
  }
  // A tensor said to have four rows more.
  Model& taller(const std::string& tensor) {
    for (formats::Tensor& t : file_.tensors) {
      if (t.name == tensor) t.shape.front() += 4;
    }
    return *this;
  }
  std::string error() const {
    const auto config = models::read_config(file_);
    if (!config) return config.error().message;
    const auto graph = models::build(file_, *config);
    return graph ? "" : graph.error().message;
  }
  // By layer.
  std::vector<uint32_t> windows() const { return attention<uint32_t>(&plan::AttentionOp::window); }
  std::vector<const plan::RopeOp*> ropes() {
    graph();
    std::vector<const plan::RopeOp*> out;
    for (const plan::Op& op : graph_.ops) {
      if (const auto* rope = std::get_if<plan::RopeOp>(&op)) out.push_back(rope);
    }
    return out;
  }

 private:
  plan::Graph graph_;
  void graph() {
    const auto config = models::read_config(file_);
    REQUIRE_MESSAGE(config.has_value(), config.error().text());
    auto graph = models::build(file_, *config);
    REQUIRE_MESSAGE(graph.has_value(), graph.error().text());
    graph_ = *std::move(graph);
  }
  template <class T>
  std::vector<T> attention(T plan::AttentionOp::* member) const {
    const auto config = models::read_config(file_);
    REQUIRE_MESSAGE(config.has_value(), config.error().text());
    const auto graph = models::build(file_, *config);
    REQUIRE_MESSAGE(graph.has_value(), graph.error().text());
    std::vector<T> out;
    for (const plan::Op& op : graph->ops) {
      if (const auto* a = std::get_if<plan::AttentionOp>(&op)) out.push_back(a->*member);
    }
    return out;
  }

  formats::ModelFile file_;
  std::string prefix_;
};

}  // namespace

TEST_CASE("sizes are read as any kind of number, and as lists of one a layer") {
  Model model("llama");
  model.set("block_count", int64_t{2}).set("embedding_length", 64.0);
  model.set("attention.head_count", std::vector<uint64_t>{4, 4});
  model.set("attention.head_count_kv", std::vector<int64_t>{2, 2});
  model.set("feed_forward_length", std::vector<uint64_t>{96, 96});
  model.set("rope.freq_base", uint64_t{500000}).set("attention.layer_norm_rms_epsilon", 1e-5);
  REQUIRE_MESSAGE(model.error().empty(), model.error());
  const auto config = model.config();
  CHECK(config->n_heads == 4);
  CHECK(config->kv_heads == std::vector<uint32_t>{2, 2});
  CHECK(config->ffn == 96);
  CHECK(config->rope_base == 500000.0f);
}

TEST_CASE("what an architecture cannot have by layer is refused by key and value") {
  Model heads("llama");
  heads.set("attention.head_count", std::vector<uint64_t>{4, 8});
  CHECK(heads.error() ==
        "The key \"llama.attention.head_count\" lists 8 heads for one layer and 4 for layer 0; one "
        "number for all layers is supported.");
  Model short_list("llama");
  short_list.set("attention.head_count_kv", std::vector<uint64_t>{2, 2, 2});
  CHECK(short_list.error() ==
        "The key \"llama.attention.head_count_kv\" lists 3 items for 2 layers.");
  Model text("llama");
  text.set("embedding_length", std::string("64"));
  CHECK(text.error() ==
        "The metadata key \"llama.embedding_length\" is \"64\" (a string), not a whole number from "
        "0.");
  Model none("llama");
  none.set("attention.head_count_kv", std::vector<uint64_t>{2, 0});
  CHECK(!none.error().empty());
}

TEST_CASE("a rotary base may be listed by layer") {
  Model model("llama");
  model.set("rope.freq_base", std::vector<double>{10000.0, 50000.0});
  const auto ropes = model.ropes();
  REQUIRE(ropes.size() == 2);
  CHECK(ropes[0]->rope.base == 10000.0f);
  CHECK(ropes[1]->rope.base == 50000.0f);
}

TEST_CASE("the pattern of sliding windows is a period or a list, of truth values or numbers") {
  const std::vector<uint32_t> three_of_four = {8, 8, 8, 0};
  const auto windows = [](const char* architecture, std::optional<Value> pattern) {
    Model model(architecture, 4);
    model.set("attention.sliding_window", uint64_t{8});
    if (pattern) model.set("attention.sliding_window_pattern", *pattern);
    return model.windows();
  };
  CHECK(windows("olmo2", std::nullopt) == three_of_four);
  CHECK(windows("olmo2", uint64_t{4}) == three_of_four);
  CHECK(windows("olmo2", std::vector<bool>{true, true, true, false}) == three_of_four);
  CHECK(windows("olmo2", std::vector<int64_t>{1, 1, 1, 0}) == three_of_four);
  CHECK(windows("olmo2", std::vector<uint64_t>{0, 1, 0, 1}) == std::vector<uint32_t>{0, 8, 0, 8});
  CHECK(windows("olmo2", uint64_t{0}) == std::vector<uint32_t>{8, 8, 8, 8});
  CHECK(windows("olmo2", uint64_t{1}) == std::vector<uint32_t>{0, 0, 0, 0});
  CHECK(windows("gemma3", std::vector<bool>{true, false, true, false}) ==
        std::vector<uint32_t>{8, 0, 8, 0});
  CHECK(windows("gemma4", std::vector<int64_t>{1, 0, 1, 0}) == std::vector<uint32_t>{8, 0, 8, 0});
  CHECK(windows("gemma4", uint64_t{2}) == std::vector<uint32_t>{8, 0, 8, 0});
  Model model("olmo2", 4);
  model.set("attention.sliding_window", std::vector<uint64_t>{4, 8, 16, 0});
  CHECK(model.windows() == std::vector<uint32_t>{4, 8, 16, 0});
  model.set("attention.sliding_window_pattern", std::vector<bool>{true});
  CHECK(model.error().empty());
  model.set("attention.sliding_window_pattern", std::vector<bool>{true, false});
  CHECK(model.error() ==
        "The key \"olmo2.attention.sliding_window_pattern\" lists 2 items for 4 layers.");
}

TEST_CASE("a window around a token reaches half of it either way") {
  using Windows = std::vector<uint32_t>;
  Model modern("modern-bert", 4);
  modern.set("attention.sliding_window", uint64_t{16});
  CHECK(modern.windows() == Windows{0, 9, 9, 0});  // the first of three sees everything
  modern.set("attention.sliding_window_pattern", uint64_t{2});
  CHECK(modern.windows() == Windows{0, 9, 0, 9});
  modern.set("attention.sliding_window_pattern", std::vector<bool>{true, false, false, true});
  CHECK(modern.windows() == Windows{9, 0, 0, 9});
  CHECK(modern.ropes()[0]->rope.base == 10000.0f);
  CHECK(modern.ropes()[1]->rope.base == 1e6f);
  modern.set("hidden_activation", std::string("relu"));
  CHECK(modern.error() ==
        "The key \"modern-bert.hidden_activation\" is \"relu\"; gelu, gelu_pytorch_tanh and silu "
        "are supported.");
  Model gemma("gemma-embedding", 4);
  CHECK(gemma.windows() == Windows{13, 0, 13, 0});
  gemma.set("dense_2_feat_out", uint64_t{96});
  CHECK(gemma.error() ==
        "The key \"gemma-embedding.dense_2_feat_out\" is 96, but there is no \"dense_2.weight\".");
  gemma.set("dense_2_feat_out", uint64_t{0}).set("attention.causal", true);
  CHECK(gemma.error() ==
        "The key \"gemma-embedding.attention.causal\" is true, which is not supported for this "
        "architecture.");
}

TEST_CASE("T5's biases go by buckets that the keys say") {
  Model model("t5encoder");
  REQUIRE_MESSAGE(model.error().empty(), model.error());
  const auto graph = models::build(model.file(), *model.config());
  REQUIRE(graph.has_value());
  // Both layers have the table of the first, by distances of up to 128.
  REQUIRE(std::ranges::count_if(graph->vectors, [](const plan::VectorSpec& v) {
            return v.buckets == kernels::RelativeBuckets{8, 128} && v.n == 4 * 257;
          }) == 1);
  model.set("attention.relative_max_distance", uint64_t{20});
  CHECK(model.error().empty());
  model.set("attention.relative_max_distance", uint64_t{2});
  CHECK(
      model.error() ==
      "The key \"t5encoder.attention.relative_max_distance\" is 2; more than the 2 distances that "
      "have a bucket of their own is supported.");
  model.set("attention.relative_max_distance", uint64_t{1} << 40);
  CHECK(model.error() ==
        "The key \"t5encoder.attention.relative_max_distance\" is 1099511627776, but 1 to 65536 is "
        "expected.");
  model.set("attention.relative_max_distance", uint64_t{128});
  model.set("attention.relative_buckets_count", uint64_t{3});
  CHECK(model.error() ==
        "The key \"t5encoder.attention.relative_buckets_count\" is 3; 4 or more are supported.");
  model.set("attention.relative_buckets_count", uint64_t{32});
  CHECK(model.error().starts_with("Tensor \"enc.blk.0.attn_rel_b.weight\" has shape [8, 4]"));
  model.set("attention.relative_buckets_count", uint64_t{8}).set("attention.causal", true);
  CHECK(model.error() ==
        "The key \"t5encoder.attention.causal\" is true, which is not supported for this "
        "architecture.");
}

TEST_CASE("blocks that predict further tokens are no layers") {
  Model model("qwen3", 2);
  model.set("block_count", uint64_t{3}).set("nextn_predict_layers", uint64_t{1});
  model.set("attention.head_count_kv", std::vector<uint64_t>{2, 2, 1});
  REQUIRE_MESSAGE(model.error().empty(), model.error());
  CHECK(model.config()->n_layers == 2);
  model.set("nextn_predict_layers", uint64_t{3});
  CHECK(model.error() == "The key \"qwen3.nextn_predict_layers\" is 3 of 3 blocks.");
}

TEST_CASE("a factor stretches positions by its newer or older name, with a type or without") {
  const auto scale = [](const char* key, Value value) {
    Model model("llama");
    model.set(key, std::move(value));
    return model.config().value().rope_freq_scale;
  };
  CHECK(scale("rope.scaling.factor", 4.0) == 0.25f);
  CHECK(scale("rope.scaling.factor", uint64_t{4}) == 0.25f);
  CHECK(scale("rope.scale_linear", 4.0) == 0.25f);
  CHECK(scale("rope.scale_linear", 0.0) == 1.0f);
  CHECK(scale("rope.scaling.factor", 0.0) == 1.0f);
  Model none("llama");
  none.set("rope.scaling.type", std::string("none")).set("rope.scaling.factor", 4.0);
  CHECK(none.config()->rope_freq_scale == 1.0f);
  Model both("llama");
  both.set("rope.scale_linear", 2.0).set("rope.scaling.factor", 4.0);
  CHECK(both.config()->rope_freq_scale == 0.25f);
  Model negative("llama");
  negative.set("rope.scaling.factor", -2.0);
  CHECK(negative.error() ==
        "The key \"llama.rope.scaling.factor\" is -2, but a positive number is expected.");
}

TEST_CASE("rope scaling is read with its numbers, and refused by name where it is not known") {
  Model model("llama");
  model.set("rope.scaling.type", std::string("yarn")).set("rope.scaling.factor", 16.0);
  CHECK(model.config()->yarn == kernels::Yarn{256, 32.0f, 1.0f});  // context_length
  model.set("rope.scaling.original_context_length", uint64_t{32});
  model.set("rope.scaling.yarn_beta_fast", 24.0);
  const auto yarn = model.config();
  REQUIRE(yarn.has_value());
  CHECK(yarn->rope_freq_scale == 1 / 16.0f);
  CHECK(yarn->yarn == kernels::Yarn{32, 24.0f, 1.0f});
  CHECK(yarn->rope_magnitude == doctest::Approx(1.2772589));
  model.set("rope.scaling.yarn_log_multiplier", 1.0);
  CHECK(model.config()->rope_magnitude == 1.0f);
  model.set("rope.scaling.yarn_attn_factor", 1.5);
  CHECK(model.config()->rope_magnitude == 1.5f);
  model.set("rope.scaling.yarn_ext_factor", 0.0);
  CHECK(model.config()->yarn == kernels::Yarn{});
  CHECK(model.config()->rope_freq_scale == 1 / 16.0f);
  model.set("rope.scaling.type", std::string("spiral"));
  CHECK(model.error() ==
        "The rope scaling \"spiral\" is not supported (supported: none, linear, yarn, longrope).");
}

TEST_CASE("sections of positions are three that cover all pairs") {
  using Sizes = std::vector<uint64_t>;
  Model model("qwen2vl");
  CHECK(model.error().empty());
  CHECK(model.set("rope.dimension_sections", Sizes{2, 3, 3}).error().empty());
  CHECK(model.set("rope.dimension_sections", Sizes{2, 3, 2, 0}).error() ==
        "The key \"qwen2vl.rope.dimension_sections\" is [2, 3, 2, 0], but 3 or 4 numbers are "
        "expected, together 8.");
  CHECK(model.set("rope.dimension_sections", Sizes{8}).error() ==
        "The key \"qwen2vl.rope.dimension_sections\" is [8], but 3 or 4 numbers are expected, "
        "together 8.");
  CHECK(model.set("rope.dimension_sections", Sizes{2, 2, 2, 2}).error() ==
        "The key \"qwen2vl.rope.dimension_sections\" has 2 pairs for a fourth coordinate, which is "
        "not supported.");
  Model deep("qwen3vl");
  CHECK(deep.set("n_deepstack_layers", uint64_t{3}).error() ==
        "The key \"qwen3vl.n_deepstack_layers\" is 3, but there are 2 layers.");
}

TEST_CASE("layers of Command R7B with a window turn, those that see everything do not") {
  Model model("cohere2", 4);
  CHECK(model.error().find("cohere2.attention.sliding_window") != std::string::npos);
  model.set("attention.sliding_window", uint64_t{8});
  REQUIRE_MESSAGE(model.error().empty(), model.error());
  CHECK(model.windows() == std::vector<uint32_t>{8, 8, 8, 0});
  const auto ropes = model.ropes();
  CHECK(ropes[0]->rope.n_rot == 16);
  CHECK(ropes[3]->rope.n_rot == 0);
}

TEST_CASE("layers of Llama 4 have chunks, or see everything and let q grow") {
  Model model("llama4", 4);
  CHECK(model.error().find("llama4.interleave_moe_layer_step") != std::string::npos);
  model.set("interleave_moe_layer_step", uint64_t{1});
  REQUIRE_MESSAGE(model.error().empty(), model.error());
  CHECK(model.windows() == std::vector<uint32_t>{8192, 8192, 8192, 0});
  auto ropes = model.ropes();
  CHECK(ropes[0]->rope.temperature == kernels::Temperature{});
  CHECK(ropes[3]->rope.n_rot == 0);
  CHECK(ropes[3]->rope.temperature == kernels::Temperature{0.1f, 8192, 1});
  model.set("attention.sliding_window", uint64_t{0});
  CHECK(model.windows() == std::vector<uint32_t>{0, 0, 0, 0});
  ropes = model.ropes();
  CHECK(ropes[3]->rope.n_rot == 16);
  CHECK(ropes[3]->rope.temperature == kernels::Temperature{});
  model.set("expert_count", uint64_t{4}).set("expert_used_count", uint64_t{2});
  CHECK(model.error() ==
        "Llama 4 with 2 experts a token, weights times 1 or another gating function than sigmoid "
        "is not supported (supported: one, times 1, sigmoid).");
  model.set("interleave_moe_layer_step", uint64_t{0});
  CHECK(model.error() ==
        "The key \"llama4.interleave_moe_layer_step\" is 0, but 1 to 4096 is expected.");
}

TEST_CASE("what an architecture needs and a file has not is named") {
  CHECK(Model("apertus").error().find("xielu.alpha_p") != std::string::npos);
  CHECK(Model("exaone4").error() == "Tensor \"blk.0.attn_q_norm.weight\" is missing.");
  CHECK(Model("hunyuan-dense").error() == "Tensor \"blk.0.attn_q_norm.weight\" is missing.");
  CHECK(Model("nemotron_h").error().find("nemotron_h.ssm.inner_size") != std::string::npos);
  Model ernie("ernie4_5-moe");
  CHECK(ernie.error().find("ernie4_5-moe.interleave_moe_layer_step") != std::string::npos);
  ernie.set("interleave_moe_layer_step", uint64_t{1});
  CHECK(!ernie.error().empty());  // no experts
  Model latent("minicpm3");
  CHECK(latent.error().find("minicpm3.attention.kv_lora_rank") != std::string::npos);
  latent.set("attention.kv_lora_rank", uint64_t{32});
  CHECK(
      latent.error() ==
      "The key \"minicpm3.rope.dimension_count\" is 16, but less than the 16 elements of a key is "
      "expected.");
  latent.set("rope.dimension_count", uint64_t{8});
  CHECK(latent.error() == "Tensor \"blk.0.attn_q_a.weight\" is missing.");
  Model mamba("mamba");
  CHECK(mamba.error().find("mamba.ssm.inner_size") != std::string::npos);
  mamba.set("ssm.inner_size", uint64_t{128});
  CHECK(mamba.error().find("mamba.ssm.time_step_rank") != std::string::npos);
  mamba.set("ssm.time_step_rank", uint64_t{4});
  CHECK(mamba.error() == "Tensor \"blk.0.ssm_in.weight\" is missing.");
  Model pictures("glm4");
  pictures.set("rope.dimension_sections", std::vector<uint64_t>{2, 3, 3});
  CHECK(pictures.error() ==
        "The file has the key \"glm4.rope.dimension_sections\": the text models of GLM-4V are not "
        "supported.");
}

TEST_CASE("bad values of keys that only some architectures have are refused by key") {
  CHECK(Model("mpt").set("attention.clamp_kqv", -2.0).error() ==
        "The key \"mpt.attention.clamp_kqv\" is -2, but a positive number is expected.");
  CHECK(Model("mpt").set("attention.max_alibi_bias", -8.0).error() ==
        "The key \"mpt.attention.max_alibi_bias\" is -8, but a positive number is expected.");
  // Without ALiBi it has learned positions.
  CHECK(Model("mpt").set("attention.max_alibi_bias", 0.0).error() ==
        "Tensor \"position_embd.weight\" is missing.");
  CHECK(Model("gpt2").set("context_length", uint64_t{300}).error() ==
        "The table of positions has 256 rows for a context of 300 tokens.");
  CHECK(Model("gpt2").set("attention.layer_norm_epsilon", 0.0).error() ==
        "The key \"gpt2.attention.layer_norm_epsilon\" is 0, but a positive number is expected.");
  Model norms("mamba");
  norms.set("ssm.inner_size", uint64_t{128}).set("ssm.time_step_rank", uint64_t{0});
  CHECK(norms.error() ==
        "The key \"mamba.ssm.time_step_rank\" is 0, but 1 to 1048576 is expected.");
  norms.set("ssm.time_step_rank", uint64_t{4}).set("ssm.dt_b_c_rms_epsilon", -1.0);
  CHECK(norms.error() ==
        "The key \"mamba.ssm.dt_b_c_rms_epsilon\" is -1, but a positive number is expected.");
  CHECK(Model("llama").set("expert_count", uint64_t{4}).error() ==
        "The metadata key \"llama.expert_used_count\" is missing in tiny llama.");
  Model experts("llama");
  experts.set("expert_count", uint64_t{4}).set("expert_used_count", uint64_t{0});
  CHECK(experts.error() ==
        "Router blk.0.ffn_gate_inp.weight chooses 0 of 4 experts; 1 to 4 are supported.");
  experts.set("expert_used_count", uint64_t{2});
  CHECK(experts.error() == "Tensor \"blk.0.ffn_gate_inp.weight\" is missing.");
}

TEST_CASE("keys and tensors of RWKV are checked by name") {
  for (const std::string name : {"rwkv6", "rwkv7"}) {
    const auto model = [&] { return Model(name.c_str()); };
    CHECK(model().error().empty());
    CHECK(model().set("token_shift_count", uint64_t{1}).error() ==
          fmt::format("The key \"{}.token_shift_count\" is 1; 2 is supported.", name));
    CHECK(model().set("wkv.head_size", uint64_t{0}).error() ==
          fmt::format("The key \"{}.wkv.head_size\" is 0, but 1 to 256 is expected.", name));
    CHECK(
        model().set("wkv.head_size", uint64_t{24}).error() ==
        fmt::format("The key \"{0}.wkv.head_size\" is 24, but a multiple of 4 that divides the 64 "
                    "of \"{0}.embedding_length\" is expected.",
                    name));
    CHECK(model().set("wkv.head_size", std::string("many")).error().find(name + ".wkv.head_size") !=
          std::string::npos);
    CHECK(model().without("blk.1.time_mix_ln.bias").error() ==
          "Tensor \"blk.1.time_mix_ln.bias\" is missing.");
    CHECK(model().without("blk.1.time_mix_lerp_fused.weight").error() ==
          fmt::format("Tensor \"blk.1.time_mix_lerp_{}.weight\" is missing.",
                      name == "rwkv6" ? "w" : "fused"));
  }
  CHECK(Model("rwkv6")
            .set("rescale_every_n_layers", std::string("two"))
            .error()
            .find("rwkv6.rescale_every_n_layers") != std::string::npos);
  CHECK(Model("rwkv7").without("blk.1.time_mix_v0.weight").error() ==
        "Tensor \"blk.1.time_mix_v0.weight\" is missing.");
  // The first layer's values are mixed with none.
  CHECK(Model("rwkv7").without("blk.0.time_mix_v0.weight").error().empty());
}
