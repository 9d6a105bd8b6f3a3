// The order of a row's elements, or of the k that come first:
//   x [n_rows, n] f32 -> y [n_rows, k] u32, indices
// Of equal elements (the two zeros are equal) the one with the lower index comes first, and NaN
// comes last in either order: the result is the same on every device. route.h chooses experts and
// sample.h tokens by itself.
#pragma once

#include <vector>

#include "base/thread_pool.h"
#include "kernels/common/call.h"

namespace puna::kernels {

constexpr uint32_t kMaxSorted = 65536;

struct SortShape {
  uint32_t n = 0;  // up to kMaxSorted
  uint32_t k = 0;  // up to n
  bool descending = false;
};

struct SortArgs {
  std::string label;
  Slice x = {}, y = {};
  SortShape shape = {};
  Rows rows = Rows::kTokens;
};
// Errors: kInvalidArgument when there are not k of n; kUnsupported above kMaxSorted.
base::Result<void> sort_indices(const gpu::DeviceInfo& device, const SortArgs& args,
                                std::vector<KernelCall>& out);

struct SortCpuArgs {
  const float* x = nullptr;
  uint32_t* y = nullptr;
  uint32_t n_rows = 0;
  SortShape shape = {};
};
void sort_indices_cpu(base::ThreadPool& pool, const SortCpuArgs& args);

}  // namespace puna::kernels
