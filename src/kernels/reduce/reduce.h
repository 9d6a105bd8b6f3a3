// What a row adds up to. For each row of x [n_rows, n] f32:
//   sum, mean    y [n_rows]     f32
//   argmax       y [n_rows]     u32, the first of the largest; NaN is never the largest, 0 when
//                               there is no number
//   max          y [n_rows]     f32, what is there
//   running sum  y [n_rows, n]  f32, y[i] = x[0] + .. + x[i]
#pragma once

#include <string_view>
#include <vector>

#include "base/thread_pool.h"
#include "kernels/common/call.h"

namespace puna::kernels {

enum class Reduction : uint8_t { kSum, kMean, kArgmax, kRunningSum, kMax };
constexpr Reduction kReductions[] = {Reduction::kSum, Reduction::kMean, Reduction::kArgmax,
                                     Reduction::kRunningSum, Reduction::kMax};
std::string_view name(Reduction reduction);

struct ReduceShape {
  Reduction reduction = Reduction::kSum;
  uint32_t n = 0;
  uint32_t n_parts = 1;  // rows of n for each row of the step
  uint32_t y_columns() const { return reduction == Reduction::kRunningSum ? n : 1; }
};

struct ReduceArgs {
  std::string label;
  Slice x = {}, y = {};
  ReduceShape shape = {};
  Rows rows = Rows::kTokens;
};
// Errors: kInvalidArgument for rows of nothing.
base::Result<void> reduce(const gpu::DeviceInfo& device, const ReduceArgs& args,
                          std::vector<KernelCall>& out);

struct ReduceCpuArgs {
  const float* x = nullptr;
  void* y = nullptr;
  uint32_t n_rows = 0;
  ReduceShape shape = {};
};
void reduce_cpu(base::ThreadPool& pool, const ReduceCpuArgs& args);

}  // namespace puna::kernels
