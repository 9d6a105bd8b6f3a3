// GPU form of gather.h.
#include "kernels/gather/gather.h"

#include "kernels/common/describe.h"

namespace puna::kernels {
namespace {
constexpr uint32_t kWorkgroup = 128;  // invocations, a unit (4 elements where n allows) each
}  // namespace

base::Result<void> gather_rows(const gpu::DeviceInfo& device, const GatherArgs& args,
                               std::vector<KernelCall>& out) {
  const uint32_t workgroups = div_up(args.n % 4 == 0 ? args.n / 4 : args.n, kWorkgroup);
  if (args.n == 0 || workgroups > device.limits.max_workgroups_per_dimension) {
    return base::fail(
        base::ErrorCode::kInvalidArgument,
        fmt::format("Gather {} has rows of {} elements; 1 to {} can be copied.", args.label, args.n,
                    uint64_t{device.limits.max_workgroups_per_dimension} * kWorkgroup));
  }
  Describe(args.label, "gather/gather.wgsl")
      .constant("B_STEP", args.step)
      .arena("B_X", args.x)
      .arena("B_Y", args.y)
      .number("N", args.n)
      .number("WG", kWorkgroup)
      .grid({Extent::kOne, workgroups, 1}, {Extent::kOutputs})
      .add_to(out);
  return {};
}

}  // namespace puna::kernels
