// Calls of every variant of the single operations (those that no weight and no state belongs to),
// for every_call.h and the test that they expand.
#pragma once

#include "kernels/common/call.h"

namespace puna::kernels::test {

base::Result<std::vector<KernelCall>> every_operation(const gpu::DeviceInfo& device);

}  // namespace puna::kernels::test
