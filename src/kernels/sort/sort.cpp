// GPU form of sort.h: an invocation an element, a workgroup a stretch of a row.
#include "kernels/sort/sort.h"

#include "kernels/common/describe.h"

namespace puna::kernels {
namespace {
constexpr uint32_t kWorkgroup = 256;  // invocations, and elements compared with at a time
}  // namespace

base::Result<void> sort_indices(const gpu::DeviceInfo& device, const SortArgs& args,
                                std::vector<KernelCall>& out) {
  const SortShape& s = args.shape;
  if (s.k == 0 || s.k > s.n) {
    return base::fail(base::ErrorCode::kInvalidArgument,
                      fmt::format("Sort {} takes {} of {} elements; 1 to all can be taken.",
                                  args.label, s.k, s.n));
  }
  if (s.n > kMaxSorted || device.limits.max_workgroup_invocations < kWorkgroup) {
    return base::fail(
        base::ErrorCode::kUnsupported,
        fmt::format("Sort {} has rows of {} elements (limit {}).", args.label, s.n, kMaxSorted));
  }
  Describe(args.label, "sort/sort.wgsl")
      .arena("B_X", args.x)
      .arena("B_Y", args.y)
      .number("N", s.n)
      .number("K", s.k)
      .number("DESCENDING", s.descending)
      .number("WG", kWorkgroup)
      .grid({Extent::kOne, div_up(s.n, kWorkgroup), 1}, {extent_of(args.rows)})
      .add_to(out);
  return {};
}

}  // namespace puna::kernels
