// GPU form of reduce.h: a workgroup a row.
#include "kernels/reduce/reduce.h"

#include "kernels/common/describe.h"
#include "kernels/norm/norm_workgroup.h"

namespace puna::kernels {

std::string_view name(Reduction reduction) {
  static constexpr std::string_view kNames[] = {"sum", "mean", "argmax", "running sum", "max"};
  return kNames[static_cast<size_t>(reduction)];
}

base::Result<void> reduce(const gpu::DeviceInfo& device, const ReduceArgs& args,
                          std::vector<KernelCall>& out) {
  const ReduceShape& s = args.shape;
  if (s.n == 0 || s.n_parts == 0 || s.n_parts > device.limits.max_workgroups_per_dimension) {
    return base::fail(
        base::ErrorCode::kInvalidArgument,
        fmt::format("Reduction {} has {} parts of {} elements; 1 to {} parts of at "
                    "least 1 can be.",
                    args.label, s.n_parts, s.n, device.limits.max_workgroups_per_dimension));
  }
  Describe call(args.label, "reduce/reduce.wgsl");
  call.arena("B_X", args.x).arena("B_Y", args.y);
  call.number("N", s.n).number("N_PARTS", s.n_parts);
  call.number("ARGMAX", s.reduction == Reduction::kArgmax);
  call.number("LARGEST", s.reduction == Reduction::kMax);
  call.number("RUNNING", s.reduction == Reduction::kRunningSum);
  call.number("MEAN", s.reduction == Reduction::kMean);
  call.number("WG", norm_workgroup(device, s.n));
  call.grid({Extent::kOne, s.n_parts, 1}, {extent_of(args.rows)}).add_to(out);
  return {};
}

}  // namespace puna::kernels
