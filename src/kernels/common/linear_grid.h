// The grid of passes over one long range: one unit an invocation, going on in the second dimension
// where the first is full. The template gets WG, SPAN (invocations along x) and UNITS, and takes
// unit id.y * SPAN + id.x.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "kernels/common/describe.h"

namespace puna::kernels {

// Errors: kUnsupported for more elements than 32 bits count, or more units than a dispatch covers.
inline base::Result<void> describe_linear(Describe call, const gpu::DeviceInfo& device,
                                          uint64_t units, uint64_t elements,
                                          std::vector<KernelCall>& out, GridDim z = {}) {
  constexpr uint64_t kWorkgroup = 128;  // invocations
  const uint64_t most = device.limits.max_workgroups_per_dimension;
  const uint64_t workgroups = (units + kWorkgroup - 1) / kWorkgroup;
  const uint64_t x = std::min(workgroups, most);
  const uint64_t y = x == 0 ? 0 : (workgroups + x - 1) / x;
  if (elements > UINT32_MAX || y > most) {
    return base::fail(base::ErrorCode::kUnsupported,
                      fmt::format("Operation {} has {} elements, more than one dispatch covers; "
                                  "split it.",
                                  call.label(), elements));
  }
  call.number("WG", kWorkgroup).number("SPAN", x * kWorkgroup).number("UNITS", units);
  call.grid({Extent::kOne, static_cast<uint32_t>(x), 1},
            {Extent::kOne, static_cast<uint32_t>(y), 1}, z);
  call.add_to(out);
  return {};
}

}  // namespace puna::kernels
