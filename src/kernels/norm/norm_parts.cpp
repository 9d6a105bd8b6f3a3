// GPU form of norm_parts.h: a workgroup a part of a row.
#include "kernels/norm/norm_parts.h"

#include <algorithm>
#include <bit>

#include "kernels/common/describe.h"
#include "kernels/norm/norm_workgroup.h"

namespace puna::kernels {

base::Result<void> norm_parts(const gpu::DeviceInfo& device, const NormPartsArgs& args,
                              std::vector<KernelCall>& out) {
  const NormPartsShape& s = args.shape;
  const uint64_t end = uint64_t{s.x_column} + uint64_t{s.n} * s.n_parts;
  if (s.n == 0 || s.n_parts == 0 || end > s.x_stride) {
    return base::fail(base::ErrorCode::kInvalidArgument,
                      fmt::format("Norm {} takes {} parts of {} elements from column {} of rows of "
                                  "{}.",
                                  args.label, s.n_parts, s.n, s.x_column, s.x_stride));
  }
  if (s.n_parts > device.limits.max_workgroups_per_dimension) {
    return base::fail(base::ErrorCode::kUnsupported,
                      fmt::format("Norm {} has {} parts (limit {}).", args.label, s.n_parts,
                                  device.limits.max_workgroups_per_dimension));
  }
  const bool vectors = (s.n | s.x_stride | s.x_column) % 4 == 0;
  Describe call(args.label, "norm/norm_parts.wgsl");
  call.arena("B_X", args.x);
  if (args.y) call.arena("B_Y", *args.y);
  if (args.gamma) call.constant("B_GAMMA", *args.gamma);
  if (args.beta) call.constant("B_BETA", *args.beta);
  call.number("VECTORS", vectors).number("LAYER", s.kind == NormKind::kLayer);
  call.number("L2", s.kind == NormKind::kL2);
  call.number("N", s.n).number("N_PARTS", s.n_parts);
  call.number("X_STRIDE", s.x_stride).number("X_COLUMN", s.x_column);
  call.number("BY_PART", s.weights_by_part).real("EPS", s.eps);
  call.number("WG", norm_workgroup(device, vectors ? s.n / 4 : s.n));
  call.grid({Extent::kOne, s.n_parts, 1}, {extent_of(args.rows)}).add_to(out);
  return {};
}

}  // namespace puna::kernels
