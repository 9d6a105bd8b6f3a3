// Graph: what a model computes for one step, as a flat list of ops over symbolic rows.
// Class-independent: the number of rows of a batch class enters only in memory planning and
// lowering. Read next: operands.h, ops/contract.h, builder.h (how models write it), fuse.h,
// memory.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "plan/operands.h"
#include "plan/ops/op.h"

namespace puna::plan {

struct Graph {
  std::vector<ValueInfo> values;
  std::vector<WeightSpec> weights;
  std::vector<VectorSpec> vectors;
  std::vector<KvSpec> kv;  // by layer; a layer without attention has no heads
  std::vector<StateSpec> states;
  uint32_t n_heads = 0;  // query heads, the same in every layer
  uint32_t vocab = 0;
  std::vector<Op> ops;
  size_t head_begin = 0;  // ops from here on, a gather first, run once per group of outputs
  ValueId hidden = 0;     // what the body leaves for the head
  ValueId logits = 0;     // [outputs, vocab]
  // Parts of a model on another device (split.h): values that are the result instead of logits, and
  // values that come from the part before.
  std::vector<ValueId> hands_over, takes_over;
  // Of a row of Step::media; 0: the graph takes none (media.h).
  uint32_t media_columns = 0;
  bool embeds = false;  // `logits` are embeddings instead, [outputs, n_out()]
  uint32_t n_out() const { return values[logits].columns; }
};

}  // namespace puna::plan
