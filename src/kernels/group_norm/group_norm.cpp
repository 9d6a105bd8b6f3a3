// GPU form of group_norm.h: the workgroup's size.
#include "kernels/group_norm/group_norm.h"

#include <algorithm>
#include <bit>

#include "kernels/common/describe.h"

namespace puna::kernels {
namespace {
constexpr uint32_t kMaxWorkgroup = 256;  // invocations a group
constexpr uint32_t kMinWorkgroup = 32;
constexpr uint32_t kElementsEach = 4;  // of one invocation, before the workgroup stops growing
}  // namespace

base::Result<void> group_norm(const gpu::DeviceInfo& device, const GroupNormArgs& args,
                              std::vector<KernelCall>& out) {
  const GroupNormShape& s = args.shape;
  if (s.n_groups == 0 || s.n == 0 || s.n % s.n_groups != 0) {
    return base::fail(
        base::ErrorCode::kInvalidArgument,
        fmt::format("Group norm {} has {} elements in {} groups.", args.label, s.n, s.n_groups));
  }
  const uint32_t largest =
      std::bit_floor(std::min(kMaxWorkgroup, device.limits.max_workgroup_invocations));
  const uint32_t smallest = std::max(kMinWorkgroup, device.subgroups ? device.subgroup_min : 0u);
  const uint32_t workgroup = std::clamp(std::bit_ceil(div_up(s.n / s.n_groups, kElementsEach)),
                                        smallest, std::max(smallest, largest));
  Describe call(args.label, "group_norm/group_norm.wgsl");
  call.arena("B_X", args.x).constant("B_GAMMA", args.gamma).arena("B_Y", args.y);
  if (args.gate) {
    call.arena("B_GATE", *args.gate);
    call.number("GATE_STRIDE", s.gate_stride).number("GATE_COLUMN", s.gate_column);
  }
  call.number("N", s.n).number("N_GROUPS", s.n_groups).number("N_GAMMA", s.n_gamma);
  call.real("EPS", s.eps).number("WG", workgroup);
  call.grid({Extent::kOne, s.n_groups, 1}, {Extent::kTokens}).add_to(out);
  return {};
}

}  // namespace puna::kernels
