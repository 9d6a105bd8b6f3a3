// GPU form of rows.h.
#include "kernels/rows/rows.h"

#include "kernels/elementwise/row_grid.h"

namespace puna::kernels {

base::Result<void> move_rows(const gpu::DeviceInfo& device, const RowsArgs& args,
                             std::vector<KernelCall>& out) {
  const RowsShape& s = args.shape;
  if (uint64_t{s.n} * s.n_indexed > UINT32_MAX) {
    return base::fail(base::ErrorCode::kUnsupported,
                      fmt::format("Rows {} are {} of {} elements, more than 32 bits count.",
                                  args.label, s.n_indexed, s.n));
  }
  Describe call(args.label, "rows/rows.wgsl");
  call.arena("B_X", args.x).arena("B_INDEX", args.index).arena("B_Y", args.y);
  call.number("PUT", s.move == RowMove::kPut).number("INDEXED", s.n_indexed);
  return describe_rows(std::move(call), device, s.n, args.rows, out);
}

}  // namespace puna::kernels
