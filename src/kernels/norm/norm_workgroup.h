// How many invocations norm a row: the same choice for norm.wgsl and norm_parts.wgsl.
#pragma once

#include <algorithm>
#include <bit>

#include "kernels/common/describe.h"

namespace puna::kernels {

// For a row of `units` (vectors or elements); a power of two.
inline uint32_t norm_workgroup(const gpu::DeviceInfo& device, uint32_t units) {
  constexpr uint32_t kMost = 256;
  constexpr uint32_t kLeast = 32;
  constexpr uint32_t kUnitsEach = 2;  // of one invocation, before the workgroup stops growing
  const uint32_t largest = std::bit_floor(std::min(kMost, device.limits.max_workgroup_invocations));
  const uint32_t smallest = std::max(kLeast, device.subgroups ? device.subgroup_min : 0u);
  return std::clamp(std::bit_ceil(div_up(units, kUnitsEach)), smallest,
                    std::max(smallest, largest));
}

}  // namespace puna::kernels
