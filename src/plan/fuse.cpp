#include "plan/fuse.h"

#include <algorithm>

namespace puna::plan {
namespace {

// How many ops read `value` (updates in place count).
size_t n_readers(const Graph& graph, ValueId value) {
  size_t n = 0;
  for (const Op& op : graph.ops) {
    const auto r = reads(op);
    n += static_cast<size_t>(std::count(r.begin(), r.end(), value));
  }
  return n;
}

// Removes op i; keeps head_begin pointing at the same op.
void erase(Graph& graph, size_t i) {
  graph.ops.erase(graph.ops.begin() + static_cast<ptrdiff_t>(i));
  if (i < graph.head_begin) --graph.head_begin;
}

// Whether the product fills all columns of its result, so that an epilogue may stand for a pass
// over the result.
bool fills_result(const Graph& graph, const MatmulOp& product) {
  return product.epilogue == kernels::Epilogue::kStore && product.y_column == 0 &&
         graph.weights[product.weight].rows == graph.values[product.y].columns;
}

bool fuse_matmul_scale(Graph& graph, size_t i) {
  auto* product = std::get_if<MatmulOp>(&graph.ops[i]);
  auto* scale = std::get_if<ScaleOp>(&graph.ops[i + 1]);
  if (!product || !scale || scale->by || !fills_result(graph, *product) || scale->y != product->y) {
    return false;
  }
  product->scale *= scale->scale;
  erase(graph, i + 1);
  return true;
}

bool fuse_matmul_add(Graph& graph, size_t i) {
  auto* product = std::get_if<MatmulOp>(&graph.ops[i]);
  auto* sum = std::get_if<AddOp>(&graph.ops[i + 1]);
  if (!product || !sum || !fills_result(graph, *product) || sum->x != product->y ||
      product->x == sum->y || n_readers(graph, product->y) != 1) {
    return false;
  }
  product->epilogue = kernels::Epilogue::kAdd;
  product->y = sum->y;
  erase(graph, i + 1);
  return true;
}

bool fuse_moe_add(Graph& graph, size_t i) {
  auto* moe = std::get_if<MoeOp>(&graph.ops[i]);
  auto* sum = std::get_if<AddOp>(&graph.ops[i + 1]);
  if (!moe || !sum || moe->adds || sum->x != moe->y || moe->x == sum->y ||
      n_readers(graph, moe->y) != 1) {
    return false;
  }
  moe->adds = true;
  moe->y = sum->y;
  erase(graph, i + 1);
  return true;
}

bool fuse_matmul_softcap(Graph& graph, size_t i) {
  auto* product = std::get_if<MatmulOp>(&graph.ops[i]);
  auto* cap = std::get_if<SoftcapOp>(&graph.ops[i + 1]);
  if (!product || !cap || !fills_result(graph, *product) || cap->y != product->y) return false;
  product->epilogue = kernels::Epilogue::kSoftcap;
  product->softcap = cap->cap;
  erase(graph, i + 1);
  return true;
}

// norm, add: the norm becomes the post-norm of a combined op without y.
bool fuse_post_norm_add(Graph& graph, size_t i) {
  auto* norm = std::get_if<NormOp>(&graph.ops[i]);
  auto* sum = std::get_if<AddOp>(&graph.ops[i + 1]);
  if (!norm || !sum || norm->residual || norm->post_gamma || !norm->y || sum->x != *norm->y ||
      norm->x == sum->y || n_readers(graph, *norm->y) != 1) {
    return false;
  }
  norm->post_gamma = norm->gamma;
  norm->gamma.reset();
  norm->y.reset();
  norm->residual = sum->y;
  erase(graph, i + 1);
  return true;
}

// norm (post) and add, then the residual times a weight.
bool fuse_norm_scale(Graph& graph, size_t i) {
  auto* norm = std::get_if<NormOp>(&graph.ops[i]);
  auto* scale = std::get_if<ScaleOp>(&graph.ops[i + 1]);
  if (!norm || !scale || !scale->by || norm->y || !norm->residual || scale->y != *norm->residual)
    return false;
  norm->scale = scale->by;
  erase(graph, i + 1);
  return true;
}

// (post-norm and) add, then a norm of the residual: one op.
bool fuse_add_norm(Graph& graph, size_t i) {
  auto* next = std::get_if<NormOp>(&graph.ops[i + 1]);
  if (!next || next->residual || next->post_gamma || !next->y) return false;
  if (auto* norm = std::get_if<NormOp>(&graph.ops[i])) {
    if (norm->y || !norm->residual || next->x != *norm->residual || norm->eps != next->eps)
      return false;
    norm->gamma = next->gamma;
    norm->y = next->y;
    norm->label += "+" + next->label;
  } else if (auto* sum = std::get_if<AddOp>(&graph.ops[i])) {
    if (next->x != sum->y) return false;
    NormOp merged = *next;
    merged.residual = sum->y;
    merged.x = sum->x;
    graph.ops[i] = std::move(merged);
  } else {
    return false;
  }
  erase(graph, i + 1);
  return true;
}

// Tells the products right after a plain norm what their x is made of, when nobody else reads it.
// The norm stays: batch classes of many rows run it once for all.
void note_norms(Graph& graph) {
  for (size_t i = 0; i + 1 < graph.ops.size(); ++i) {
    const auto* norm = std::get_if<NormOp>(&graph.ops[i]);
    if (!norm || norm->post_gamma || norm->residual || !norm->gamma || !norm->y) continue;
    std::vector<MatmulOp*> products;
    for (size_t j = i + 1; j < graph.ops.size(); ++j) {
      auto* product = std::get_if<MatmulOp>(&graph.ops[j]);
      if (!product || product->x != *norm->y || product->y == norm->x) break;
      products.push_back(product);
    }
    if (n_readers(graph, *norm->y) != products.size()) continue;
    for (MatmulOp* product : products) product->x_norm = *norm;
    auto* before =
        i > 0 && i != graph.head_begin ? std::get_if<MatmulOp>(&graph.ops[i - 1]) : nullptr;
    if (before && before->epilogue == kernels::Epilogue::kAdd && before->y == norm->x)
      before->y_norm = *norm;
  }
}

// Tells gated products and attention ops whose result only the product after them reads.
void note_feeds(Graph& graph) {
  const auto only_next_reads = [&](size_t i, ValueId result) {
    const auto* next = std::get_if<MatmulOp>(&graph.ops[i + 1]);
    return next && next->x == result && next->y != result && i + 1 != graph.head_begin &&
           n_readers(graph, result) == 1;
  };
  for (size_t i = 0; i + 1 < graph.ops.size(); ++i) {
    if (auto* product = std::get_if<MatmulOp>(&graph.ops[i])) {
      product->feeds_next = kernels::is_gated(product->epilogue) && only_next_reads(i, product->y);
    } else if (auto* attention = std::get_if<AttentionOp>(&graph.ops[i])) {
      attention->feeds_next = only_next_reads(i, attention->out);
    }
  }
}

// Tells attention ops what made their q, keys and values.
void note_appends(Graph& graph) {
  for (size_t i = 0; i + 1 < graph.ops.size(); ++i) {
    const auto* rope = std::get_if<RopeOp>(&graph.ops[i]);
    auto* attention = std::get_if<AttentionOp>(&graph.ops[i + 1]);
    if (rope && rope->appends && attention && attention->q == rope->q &&
        attention->layer == rope->layer && n_readers(graph, rope->q) == 1) {
      attention->append = *rope;
    }
  }
}

}  // namespace

Graph fuse(Graph graph) {
  for (auto pattern : {fuse_matmul_scale, fuse_matmul_add, fuse_moe_add, fuse_matmul_softcap,
                       fuse_post_norm_add, fuse_norm_scale, fuse_add_norm}) {
    for (size_t i = 0; i + 1 < graph.ops.size(); ++i) {
      // The body and the head run apart, so nothing merges across their border.
      if (i + 1 != graph.head_begin) pattern(graph, i);
    }
  }
  note_norms(graph);
  note_feeds(graph);
  note_appends(graph);
  return graph;
}

}  // namespace puna::plan
