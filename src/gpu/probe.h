// What a device does not tell of itself, found by running two small kernels on it.
#pragma once

#include "base/task.h"
#include "gpu/device.h"

namespace puna::gpu {

// The device's info, completed: subgroup sizes where the library gave none (subgroups are off where
// the kernel does not compile), and whether dot4I8Packed is right. Errors: those of the device.
base::Task<base::Result<DeviceInfo>> probe(Device& device);

}  // namespace puna::gpu
