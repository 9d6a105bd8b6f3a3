// Whether a device computes right: a tiny model of random weights on it, against the CPU. Drivers
// that get a kernel wrong give fluent nonsense or "@@@@"; this tells before a model is loaded.
#pragma once

#include <string>

#include "base/result.h"
#include "base/task.h"
#include "gpu/device.h"
#include "kernels/common/call.h"

namespace puna::engine {

// A prompt and a step after it, with q4_0 weights. Errors: kDevice with how far the logits are off;
// those of loading and running on the device.
base::Task<base::Result<void>> check_device(gpu::Device& device, kernels::Numerics numerics);

// What a check that passed is good for: this adapter with its driver and features, these kernels,
// and these numerics, as one text.
std::string check_key(const gpu::DeviceInfo& device, kernels::Numerics numerics);

}  // namespace puna::engine
