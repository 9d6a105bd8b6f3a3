// Picks the rows whose logits are wanted: y[i, :] = x[output_row[i], :].
//   x [n_tokens, n]  y [n_outputs, n]  f32
#pragma once

#include <vector>

#include "kernels/common/call.h"

namespace puna::kernels {

struct GatherArgs {
  std::string label;
  Slice step = {}, x = {}, y = {};
  uint32_t n = 0;
};
base::Result<void> gather_rows(const gpu::DeviceInfo& device, const GatherArgs& args,
                               std::vector<KernelCall>& out);

}  // namespace puna::kernels
