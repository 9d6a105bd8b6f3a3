#include "models/models.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "models/testing/tiny_model.h"
#include "plan/fuse.h"
#include "plan/memory.h"

using namespace puna;

namespace {

plan::Graph graph_of(const char* architecture) {
  fixtures::TinyShape shape;
  shape.architecture = architecture;
  const auto file = fixtures::tiny_model(shape);
  return *models::build(file, *models::read_config(file));
}

size_t count(const plan::Graph& graph, size_t kind) {
  size_t n = 0;
  for (const plan::Op& op : graph.ops) n += op.index() == kind;
  return n;
}

}  // namespace

TEST_CASE("values that are alive together never overlap, fused or not") {
  for (const char* architecture : {"llama", "gemma3"}) {
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
