// GPU form of norm.h: which workgroup size, which of the optional operands.
#include "kernels/norm/norm.h"

#include "kernels/norm/norm_workgroup.h"
#include "quant/planes.h"

namespace puna::kernels {

base::Result<void> rms_norm(const gpu::DeviceInfo& device, const NormArgs& args,
                            std::vector<KernelCall>& out) {
  if (args.n == 0) {
    return base::fail(base::ErrorCode::kInvalidArgument,
                      fmt::format("Norm {} has rows of 0 elements.", args.label));
  }
  if (args.y16 && (args.y || args.n % quant::kUnit != 0)) {
    return base::fail(base::ErrorCode::kInvalidArgument,
                      fmt::format("Norm {} of {} elements cannot leave {}.", args.label, args.n,
                                  args.y ? "f16 beside f32" : "whole units of f16"));
  }
  if (args.gamma.has_value() != (args.y || args.y16)) {
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
  if (args.gamma) call.constant("B_GAMMA", *args.gamma);
  if (args.y) call.arena("B_Y", *args.y);
  if (args.y16) {
    call.flag("REDUCES_MAX").arena("B_X16", args.y16->place);
    call.text("X16_ROWS", fmt::format("{}u", args.y16->rows));
  }
  call.number("N", args.n)
      .real("EPS", args.eps)
      .number("WG", norm_workgroup(device, args.n % 4 == 0 ? args.n / 4 : args.n));
  call.grid({extent_of(args.rows)}).add_to(out);
  return {};
}

}  // namespace puna::kernels
