// The grid of elementwise passes: one unit (4 elements where n allows) an invocation, rows along y.
#pragma once

#include <string>
#include <vector>

#include "kernels/common/describe.h"

namespace puna::kernels {

// Errors: kInvalidArgument for rows of nothing, kUnsupported for rows longer than a dispatch.
inline base::Result<void> describe_rows(Describe call, const gpu::DeviceInfo& device, uint32_t n,
                                        Rows rows, std::vector<KernelCall>& out) {
  constexpr uint32_t kWorkgroup = 128;  // invocations
  if (n == 0) {
    return base::fail(base::ErrorCode::kInvalidArgument,
                      fmt::format("Operation {} has rows of 0 elements.", call.label()));
  }
  const uint32_t workgroups = div_up(n % 4 == 0 ? n / 4 : n, kWorkgroup);
  if (workgroups > device.limits.max_workgroups_per_dimension) {
    return base::fail(
        base::ErrorCode::kUnsupported,
        fmt::format(
            "Operation {} has rows of {} elements, more than one dispatch covers (limit {}).",
            call.label(), n, uint64_t{device.limits.max_workgroups_per_dimension} * kWorkgroup));
  }
  call.number("N", n).number("WG", kWorkgroup);
  call.grid({Extent::kOne, workgroups, 1}, {extent_of(rows)}).add_to(out);
  return {};
}

}  // namespace puna::kernels
