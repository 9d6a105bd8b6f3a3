// GPU form of norm.h: which workgroup size, which of the optional operands.
#include "kernels/norm/norm.h"

#include "kernels/norm/norm_workgroup.h"

namespace puna::kernels {

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
  if (args.scale && !args.residual) {
    return base::fail(base::ErrorCode::kInvalidArgument,
                      fmt::format("Norm {} scales a residual that it has not.", args.label));
  }
  Describe call(args.label, "norm/norm.wgsl");
  call.arena("B_X", args.x);
  if (args.post_gamma) call.constant("B_POST_GAMMA", *args.post_gamma);
  if (args.residual) call.arena("B_RESIDUAL", *args.residual);
  if (args.scale) call.constant("B_SCALE", *args.scale);
  if (args.y) call.constant("B_GAMMA", *args.gamma).arena("B_Y", *args.y);
  call.number("N", args.n)
      .real("EPS", args.eps)
      .number("WG", norm_workgroup(device, args.n % 4 == 0 ? args.n / 4 : args.n));
  call.grid({extent_of(args.rows)}).add_to(out);
  return {};
}

}  // namespace puna::kernels
