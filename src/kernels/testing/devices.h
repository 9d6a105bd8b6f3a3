// Devices that are only described, for what is chosen by their features without a GPU.
#pragma once

#include "gpu/device.h"

namespace puna::kernels::test {

inline gpu::DeviceInfo with_matrix_units() {
  gpu::DeviceInfo device;
  device.subgroups = device.f16 = true;
  device.subgroup_min = device.subgroup_max = 32;
  device.matrix = {.m = 16, .n = 16, .k = 16};
  device.limits.max_workgroup_bytes = 49152;
  device.limits.max_workgroup_invocations = 1024;
  return device;
}

}  // namespace puna::kernels::test
