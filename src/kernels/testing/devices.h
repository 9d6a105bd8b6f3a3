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

// As Metal has them: f32 in squares of 8, and 32 KiB of workgroup memory.
inline gpu::DeviceInfo with_f32_matrix_units() {
  gpu::DeviceInfo device = with_matrix_units();
  device.matrix = {.m = 8, .n = 8, .k = 8, .f32 = true};
  device.limits.max_workgroup_bytes = 32768;
  return device;
}

}  // namespace puna::kernels::test
