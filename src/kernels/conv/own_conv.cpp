// GPU form of own_conv.h: one channel of one row an invocation.
#include "kernels/conv/own_conv.h"

#include "kernels/common/describe.h"

namespace puna::kernels {

base::Result<void> own_conv(const gpu::DeviceInfo& device, const OwnConvArgs& args,
                            std::vector<KernelCall>& out) {
  constexpr uint32_t kWorkgroup = 64;  // invocations
  const OwnConvShape& s = args.shape;
  if (s.n_channels == 0 || s.n_taps == 0) {
    return base::fail(base::ErrorCode::kInvalidArgument,
                      fmt::format("Convolution {} has {} channels and {} taps.", args.label,
                                  s.n_channels, s.n_taps));
  }
  const uint32_t workgroups = div_up(s.n_channels, kWorkgroup);
  if (workgroups > device.limits.max_workgroups_per_dimension) {
    return base::fail(
        base::ErrorCode::kUnsupported,
        fmt::format("Convolution {} has {} channels, more than one dispatch covers (limit {}).",
                    args.label, s.n_channels,
                    uint64_t{device.limits.max_workgroups_per_dimension} * kWorkgroup));
  }
  Describe(args.label, "conv/own_conv.wgsl")
      .arena("B_X", args.x)
      .constant("B_WEIGHTS", args.weights)
      .arena("B_BEFORE", args.before)
      .arena("B_Y", args.y)
      .number("CHANNELS", s.n_channels)
      .number("TAPS", s.n_taps)
      .number("BEFORE_STRIDE", s.before_stride)
      .number("WG", kWorkgroup)
      .grid({Extent::kOne, workgroups, 1}, {extent_of(args.rows)})
      .add_to(out);
  return {};
}

}  // namespace puna::kernels
