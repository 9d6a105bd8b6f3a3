// Greedy choice on the GPU and the chaining of steps without a round trip.
//   argmax: id[i] = index of the largest of logits[i, :] (the lowest index among equals)
//   logits [n_outputs, vocab] f32     ids [n_outputs] u32
// advance: for decode steps where row i is output i: writes ids[i] into the step buffer as row i's
// next token, adds 1 to its position, and sets the splits of attention for the step so made.
#pragma once

#include <vector>

#include "kernels/common/call.h"

namespace puna::kernels {

constexpr uint32_t kMaxBatch = 16;  // rows of the largest decode class

struct ArgmaxArgs {
  std::string label;
  Slice step = {}, logits = {}, ids = {};
  Slice scratch = {};  // of argmax_scratch_bytes()
  uint32_t vocab = 0;
  uint32_t max_rows = 1;
};
uint64_t argmax_scratch_bytes(const gpu::DeviceInfo& device, const ArgmaxArgs& args);
base::Result<void> argmax(const gpu::DeviceInfo& device, const ArgmaxArgs& args,
                          std::vector<KernelCall>& out);

struct AdvanceArgs {
  std::string label;
  Slice step = {}, ids = {};
};
base::Result<void> advance(const gpu::DeviceInfo& device, const AdvanceArgs& args,
                           std::vector<KernelCall>& out);

}  // namespace puna::kernels
