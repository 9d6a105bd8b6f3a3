// GPU form of hadamard.h: a workgroup a part.
#include "kernels/hadamard/hadamard.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "kernels/common/describe.h"

namespace puna::kernels {

base::Result<void> hadamard(const gpu::DeviceInfo& device, const HadamardArgs& args,
                            std::vector<KernelCall>& out) {
  const HadamardShape& s = args.shape;
  if (!std::has_single_bit(s.n) || s.n > kMaxHadamard || s.n_parts == 0 ||
      s.n_parts > device.limits.max_workgroups_per_dimension) {
    return base::fail(base::ErrorCode::kInvalidArgument,
                      fmt::format("Transform {} has {} parts of {} elements; they must be a power "
                                  "of two, at most {}, in 1 to {} parts.",
                                  args.label, s.n_parts, s.n, kMaxHadamard,
                                  device.limits.max_workgroups_per_dimension));
  }
  constexpr uint32_t kMostInvocations = 256;
  Describe(args.label, "hadamard/hadamard.wgsl")
      .arena("B_Y", args.y)
      .number("N", s.n)
      .number("N_PARTS", s.n_parts)
      .real("SCALE", 1.0f / std::sqrt(static_cast<float>(s.n)))
      .number("WG", std::clamp(s.n / 2, 1u, kMostInvocations))
      .grid({Extent::kOne, s.n_parts, 1}, {extent_of(args.rows)})
      .add_to(out);
  return {};
}

}  // namespace puna::kernels
