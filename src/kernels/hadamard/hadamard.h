// The Walsh-Hadamard transform of each part of a row, in place: y = H v / sqrt(n), H[i, j] =
// (-1)^popcount(i & j), which is its own inverse. It spreads outliers over all elements before they
// are quantized (Ashkboos et al. 2024, QuaRot, section 3).
//   y  [n_rows, n_parts * n]  f32; n a power of two up to kMaxHadamard
#pragma once

#include <vector>

#include "base/thread_pool.h"
#include "kernels/common/call.h"

namespace puna::kernels {

constexpr uint32_t kMaxHadamard =
    4096;  // f32 in the 16 KiB of workgroup memory that every device has

struct HadamardShape {
  uint32_t n = 0;
  uint32_t n_parts = 1;
};

struct HadamardArgs {
  std::string label;
  Slice y = {};
  HadamardShape shape = {};
  Rows rows = Rows::kTokens;
};
// Errors: kInvalidArgument for another n.
base::Result<void> hadamard(const gpu::DeviceInfo& device, const HadamardArgs& args,
                            std::vector<KernelCall>& out);

struct HadamardCpuArgs {
  float* y = nullptr;
  uint32_t n_rows = 0;
  HadamardShape shape = {};
};
void hadamard_cpu(base::ThreadPool& pool, const HadamardCpuArgs& args);

}  // namespace puna::kernels
