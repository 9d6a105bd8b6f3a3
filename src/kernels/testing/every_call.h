// Calls of every role, weight type and option that changes a template's text, for whoever compiles
// them all. Shapes are small; slices are empty.
#pragma once

#include <vector>

#include "kernels/common/call.h"

namespace puna::kernels::test {

// Errors: what a role refuses, with the label of the call.
base::Result<std::vector<KernelCall>> every_call(const gpu::DeviceInfo& device);

// Devices whose texts differ: the baseline of WebGPU, and subgroups of several sizes with as much
// workgroup memory as a browser gives.
std::vector<gpu::DeviceInfo> every_device(gpu::Dialect dialect);

}  // namespace puna::kernels::test
