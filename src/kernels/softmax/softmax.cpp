// GPU form of softmax.h: a workgroup a row.
#include "kernels/softmax/softmax.h"

#include <cmath>

#include "kernels/common/describe.h"
#include "kernels/norm/norm_workgroup.h"

namespace puna::kernels {

base::Result<void> softmax(const gpu::DeviceInfo& device, const SoftmaxArgs& args,
                           std::vector<KernelCall>& out) {
  const SoftmaxShape& s = args.shape;
  if (s.n == 0 || s.n_heads == 0 || s.n_heads > device.limits.max_workgroups_per_dimension ||
      !std::isfinite(s.scale)) {
    return base::fail(base::ErrorCode::kInvalidArgument,
                      fmt::format("Softmax {} has {} heads of {} elements times {}; 1 to {} heads "
                                  "of at least 1 times a finite number can be.",
                                  args.label, s.n_heads, s.n, s.scale,
                                  device.limits.max_workgroups_per_dimension));
  }
  Describe call(args.label, "softmax/softmax.wgsl");
  call.arena("B_Y", args.y);
  if (args.bias) call.arena("B_BIAS", *args.bias);
  if (args.slopes) call.constant("B_SLOPES", *args.slopes);
  if (args.sinks) call.constant("B_SINKS", *args.sinks);
  call.number("N", s.n).number("N_HEADS", s.n_heads).number("BIAS_BY_HEAD", s.bias_by_head);
  call.real("SCALE", s.scale).number("WG", norm_workgroup(device, s.n));
  call.grid({Extent::kOne, s.n_heads, 1}, {extent_of(args.rows)}).add_to(out);
  return {};
}

}  // namespace puna::kernels
