#include "models/models.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "models/testing/tiny_model.h"
#include "plan/fuse.h"
#include "plan/media.h"
#include "plan/memory.h"

using namespace puna;

namespace {

plan::Graph graph_of(const char* architecture, bool media = false) {
  fixtures::TinyShape shape;
  shape.architecture = architecture;
  if (shape.architecture == "gemma4") shape.n_layers = 4;  // two of them share keys
  const auto file = fixtures::tiny_model(shape);
  auto config = models::read_config(file);
  REQUIRE_MESSAGE(config.has_value(), config.error().text());
  config->media = media;
  auto graph = models::build(file, *config);
  REQUIRE_MESSAGE(graph.has_value(), graph.error().text());
  if (media) graph = plan::take_media(*std::move(graph));
  REQUIRE_MESSAGE(graph.has_value(), graph.error().text());
  return *std::move(graph);
}

size_t count(const plan::Graph& graph, size_t kind) {
  size_t n = 0;
  for (const plan::Op& op : graph.ops) n += op.index() == kind;
  return n;
}

}  // namespace

TEST_CASE("values that are alive together never overlap, fused or not") {
  for (const char* architecture :
       {"llama", "gemma3", "gemma4", "qwen2", "qwen2vl", "qwen3", "qwen3vl", "olmo2", "phi3",
        "bert", "gpt2", "mpt", "modern-bert", "gemma-embedding", "t5encoder"}) {
    CAPTURE(architecture);
    for (const bool fused : {false, true}) {
      plan::Graph graph = graph_of(architecture);
      if (fused) graph = plan::fuse(std::move(graph));
      std::vector<uint64_t> scratch(graph.ops.size(), 1000);
      const plan::ArenaPlan plan = plan::plan_arena(graph, 32, 4, scratch);
      // Replay: every byte remembers who wrote it last; a read must find its own value.
      std::vector<int64_t> owner(plan.bytes, -1);
      const auto paint = [&](plan::ArenaPlan::Place p, int64_t who) {
        std::fill_n(owner.begin() + static_cast<ptrdiff_t>(p.offset), p.bytes, who);
      };
      const auto intact = [&](plan::ValueId v) {
        const auto p = plan.values[v];
        return std::all_of(owner.begin() + static_cast<ptrdiff_t>(p.offset),
                           owner.begin() + static_cast<ptrdiff_t>(p.offset + p.bytes),
                           [&](int64_t o) { return o == int64_t{v}; });
      };
      const auto run = [&](size_t begin, size_t end) {
        for (size_t i = begin; i < end; ++i) {
          for (plan::ValueId v : plan::reads(graph.ops[i])) CHECK(intact(v));
          paint(plan.scratch[i], -2);
          for (plan::ValueId v : plan::reads(graph.ops[i])) CHECK(intact(v));
          for (plan::ValueId v : plan::writes(graph.ops[i])) paint(plan.values[v], v);
        }
      };
      run(0, graph.head_begin);
      run(graph.head_begin, graph.ops.size());
      run(graph.head_begin, graph.ops.size());  // the head runs again for further outputs
      CHECK(intact(graph.logits));
    }
  }
}

TEST_CASE("text alone has nothing of media in its graph") {
  constexpr size_t kAddMedia = 20;
  for (const char* architecture : {"gemma3", "gemma4", "qwen2vl", "qwen3vl"}) {
    CAPTURE(architecture);
    const plan::Graph text = graph_of(architecture);
    CHECK(text.media_columns == 0);
    CHECK(!plan::reads_media(text));
    CHECK(!plan::reads_places(text));
    CHECK(count(text, kAddMedia) == 0);
    const plan::Graph media = plan::fuse(graph_of(architecture, /*media=*/true));
    CHECK(plan::reads_media(media));
    CHECK(plan::reads_places(media));
    const bool adds = std::string(architecture) == "qwen3vl";
    CHECK(count(media, kAddMedia) == (adds ? 1 : 0));
    CHECK(media.media_columns == (adds ? 128 : 64));
  }
  // Those are the same layers with other positions.
  CHECK(graph_of("qwen2vl").ops.size() == graph_of("qwen2").ops.size());
  CHECK(graph_of("qwen3vl").ops.size() == graph_of("qwen3").ops.size());
}

TEST_CASE("fusion leaves no pass that only adds") {
  const plan::Graph llama = plan::fuse(graph_of("llama"));
  // Per layer: norm, qkv, rope, attention, out + residual, norm, gate/up, down + residual. Then
  // embed, gather, norm, head.
  CHECK(llama.ops.size() == 2 * 8 + 4);
  constexpr size_t kAdd = 6;
  CHECK(count(llama, kAdd) == 0);
  const plan::Graph gemma = plan::fuse(graph_of("gemma3"));
  CHECK(count(gemma, kAdd) == 0);
  // The first norm of each layer but the first rides on the post-norm before it.
  CHECK(gemma.ops.size() == 2 * 8 + 1 + 4);
}

TEST_CASE("other architectures fuse as far") {
  constexpr size_t kAdd = 6, kScale = 7;
  // As llama; q and k norms ride on the rope op, biases on the products.
  CHECK(plan::fuse(graph_of("qwen2")).ops.size() == 2 * 8 + 4);
  CHECK(plan::fuse(graph_of("qwen3")).ops.size() == 2 * 8 + 4);
  CHECK(plan::fuse(graph_of("phi3")).ops.size() == 2 * 8 + 4);
  // Norms of q and of k (grouped heads); no norms before the blocks, and that after the last is
  // the output's.
  CHECK(plan::fuse(graph_of("olmo2")).ops.size() == 2 * 10 + 4 - 1);
  // Two layer norms a layer, in place; nothing after the last but the gather.
  const plan::Graph bert = plan::fuse(graph_of("bert"));
  CHECK(bert.ops.size() == 4 + 2 * 8 + 1);
  CHECK(count(bert, kAdd) == 0);
  const plan::Graph gemma = plan::fuse(graph_of("gemma4"));
  CHECK(count(gemma, kAdd) == 1);    // of the two embeddings of a layer
  CHECK(count(gemma, kScale) == 1);  // of one of them; the layers' factors ride on norms
}

TEST_CASE("the head begins where rows no longer meet") {
  for (const char* architecture :
       {"llama", "gemma3", "gemma4", "qwen2", "qwen2vl", "qwen3", "qwen3vl", "olmo2", "phi3",
        "bert", "modern-bert", "gemma-embedding", "t5encoder"}) {
    CAPTURE(architecture);
    const plan::Graph graph = graph_of(architecture);
    for (size_t i = 0; i < graph.ops.size(); ++i) {
      const plan::Op& op = graph.ops[i];
      const bool gathers = std::holds_alternative<plan::GatherOp>(op);
      CHECK(gathers == (i == graph.head_begin));
      const bool reads_outputs = i > graph.head_begin, writes_outputs = i >= graph.head_begin;
      for (plan::ValueId v : plan::reads(op))
        CHECK((graph.values[v].rows == kernels::Rows::kOutputs) == reads_outputs);
      for (plan::ValueId v : plan::writes(op))
        CHECK((graph.values[v].rows == kernels::Rows::kOutputs) == writes_outputs);
    }
  }
  const auto head = [](const plan::Graph& graph) {
    std::vector<std::string> out;
    for (size_t i = graph.head_begin; i < graph.ops.size(); ++i) {
      if (std::holds_alternative<plan::MatmulOp>(graph.ops[i]))
        out.push_back(plan::label(graph.ops[i]));
    }
    return out;
  };
  for (const char* architecture : {"llama", "gemma3", "qwen3", "olmo2"}) {
    CAPTURE(architecture);
    const auto products = head(plan::fuse(graph_of(architecture)));
    REQUIRE(products.size() == 3);
    CHECK(products[0] == "blk.1.ffn_gate.weight|blk.1.ffn_up.weight");
    CHECK(products[1] == "blk.1.ffn_down.weight");
    CHECK(products[2] == "token_embd.weight");
  }
  // Each layer of gemma4 reads embeddings of its own of the step's tokens.
  CHECK(head(graph_of("gemma4")).size() == 1);
}

TEST_CASE("embeddings of a model that gives logits are what its output layer reads") {
  for (const char* architecture : {"llama", "qwen3", "bert"}) {
    CAPTURE(architecture);
    fixtures::TinyShape shape;
    shape.architecture = architecture;
    auto file = fixtures::tiny_model(shape);
    const auto config = *models::read_config(file);
    const auto graph = models::build_embeddings(file, config, models::pooling_of(config, {}));
    REQUIRE(graph.has_value());
    CHECK(graph->embeds);
    CHECK(graph->n_out() == shape.hidden);
    const auto full = models::build(file, config);
    CHECK(full->embeds == (shape.architecture == "bert"));
    CHECK(full->ops.size() - graph->ops.size() == (full->embeds ? 0 : 1));
  }
}

TEST_CASE("rank needs a classifier, and gives its scores") {
  fixtures::TinyShape shape;
  shape.architecture = "bert";
  auto file = fixtures::tiny_model(shape);
  const auto config = *models::read_config(file);
  const auto refused = models::build_embeddings(file, config, models::Pooling::kRank);
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().message.find("cls.output.weight") != std::string::npos);
  for (auto& t : file.tensors) {
    if (t.name == "token_types.weight") t.name = "cls.output.weight";
  }
  file.index();
  const auto graph = models::build_embeddings(file, config, models::Pooling::kRank);
  REQUIRE(graph.has_value());
  CHECK(graph->n_out() == 2);
}

TEST_CASE("a classifier with a norm is ModernBERT's") {
  fixtures::TinyShape shape;
  shape.architecture = "modern-bert";
  shape.n_layers = 3;
  auto file = fixtures::tiny_model(shape);
  for (auto& t : file.tensors) {
    if (t.name == "blk.1.attn_output.weight") t.name = "cls.weight";
    if (t.name == "blk.2.attn_output.weight") t.name = "cls.output.weight";
    if (t.name == "blk.1.ffn_norm.weight") t.name = "cls.norm.weight";
  }
  file.index();
  auto config = *models::read_config(file);
  CHECK(!config.causal);
  config.n_layers = 1;
  const auto graph = models::build_embeddings(file, config, models::Pooling::kRank);
  REQUIRE_MESSAGE(graph.has_value(), graph.error().text());
  constexpr size_t kNormParts = 13;
  CHECK(count(*graph, kNormParts) == 4);  // of the embeddings, a layer, the last and the head's
}

TEST_CASE("pooling is as asked, else as the file says, else by the kind of model") {
  models::Config config;
  CHECK(models::pooling_of(config, {}) == models::Pooling::kLast);
  CHECK(models::pooling_of(config, models::Pooling::kMean) == models::Pooling::kMean);
  config.causal = false;
  CHECK(models::pooling_of(config, {}) == models::Pooling::kMean);
  config.pooling = models::Pooling::kCls;
  CHECK(models::pooling_of(config, {}) == models::Pooling::kCls);
}

TEST_CASE("a model with a wrong or missing tensor names it") {
  auto file = fixtures::tiny_model();
  const auto config = *models::read_config(file);
  for (auto& t : file.tensors) {
    if (t.name == "blk.1.ffn_down.weight") t.shape = {64, 90};
  }
  CHECK(models::build(file, config).error().message ==
        "Tensor \"blk.1.ffn_down.weight\" has shape [64, 90], but [any, 96] is expected.");
  for (auto& t : file.tensors) {
    if (t.name == "blk.0.attn_q.weight") t.name = "blk.0.other";
  }
  file.index();
  CHECK(models::build(file, config).error().message ==
        "Tensor \"blk.0.attn_q.weight\" is missing.");
}
