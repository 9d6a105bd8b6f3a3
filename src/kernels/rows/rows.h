// Rows by a list of indices.
//   take: y[i, :] = x[index[i], :], zeros where the index is not a row of x
//   put:  y[index[i], :] = x[i, :], nothing where the index is not a row of y; indices must differ
//   x, y   [rows, n]  32-bit words, moved bit for bit
//   index  [n_rows]   i32
// gather.h takes the rows that a step wants logits of, embed.h decodes rows of a weight of any
// type, and rope.h writes cache rows.
#pragma once

#include <vector>

#include "base/thread_pool.h"
#include "kernels/common/call.h"

namespace puna::kernels {

enum class RowMove : uint8_t { kTake, kPut };

struct RowsShape {
  RowMove move = RowMove::kTake;
  uint32_t n = 0;
  uint32_t n_indexed = 0;  // rows of the side that is indexed: x of take, y of put
};

struct RowsArgs {
  std::string label;
  Slice x = {}, index = {}, y = {};
  RowsShape shape = {};
  Rows rows = Rows::kTokens;  // how many indices
};
base::Result<void> move_rows(const gpu::DeviceInfo& device, const RowsArgs& args,
                             std::vector<KernelCall>& out);

struct RowsCpuArgs {
  const float* x = nullptr;
  const int32_t* index = nullptr;
  float* y = nullptr;
  uint32_t n_rows = 0;
  RowsShape shape = {};
};
void move_rows_cpu(base::ThreadPool& pool, const RowsCpuArgs& args);

}  // namespace puna::kernels
