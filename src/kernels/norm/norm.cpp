// GPU form of norm.h: which workgroup size, which of the optional operands.
#include "kernels/norm/norm.h"

#include <algorithm>
#include <bit>

#include "kernels/common/describe.h"

namespace puna::kernels {
namespace {
constexpr uint32_t kMaxWorkgroup = 256;  // invocations a row
constexpr uint32_t kMinWorkgroup = 32;
constexpr uint32_t kUnitsEach =
    2;  // units of a row one invocation takes, before the workgroup stops growing
}  // namespace

base::Result<void> rms_norm(const gpu::DeviceInfo& device, const NormArgs& args,
                            std::vector<KernelCall>& out) {
  if (args.n == 0) {
    return base::fail(base::ErrorCode::kInvalidArgument,
                      fmt::format("Norm {} has rows of 0 elements.", args.label));
  }
  if (args.gamma.has_value() != args.y.has_value()) {
    return base::fail(base::ErrorCode::kInvalidArgument,
                      fmt::format("Norm {} has {} without {}; give both or neither.", args.label,
                                  args.gamma ? "gamma" : "y", args.gamma ? "y" : "gamma"));
  }
  const uint32_t units = args.n % 4 == 0 ? args.n / 4 : args.n;
  const uint32_t largest =
      std::bit_floor(std::min(kMaxWorkgroup, device.limits.max_workgroup_invocations));
  const uint32_t smallest = std::max(kMinWorkgroup, device.subgroups ? device.subgroup_min : 0u);
  const uint32_t workgroup =
      std::clamp(std::bit_ceil(div_up(units, kUnitsEach)), smallest, std::max(smallest, largest));

  Describe call(args.label, "norm/norm.wgsl");
  call.arena("B_X", args.x);
  if (args.post_gamma) call.constant("B_POST_GAMMA", *args.post_gamma);
  if (args.residual) call.arena("B_RESIDUAL", *args.residual);
  if (args.y) call.constant("B_GAMMA", *args.gamma).arena("B_Y", *args.y);
  call.number("N", args.n).real("EPS", args.eps).number("WG", workgroup);
  call.grid({extent_of(args.rows)}).add_to(out);
  return {};
}

}  // namespace puna::kernels
