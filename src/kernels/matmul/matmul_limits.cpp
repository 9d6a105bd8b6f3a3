#include "kernels/matmul/matmul_limits.h"

#include <algorithm>

#include "kernels/common/matrix_units.h"

namespace puna::kernels {
namespace {

constexpr uint32_t kOwnBytesOfUnit =
    40;  // int8 activations of matvec.wgsl's own, with scale and sums
constexpr uint32_t kTileBytesOfUnit = 48;  // gemm_int8.wgsl: codes and at most a vec4

// Subgroups sum a team when it is made of whole ones; matvec.wgsl decides by the same rule.
bool sums_by_subgroup(const gpu::DeviceInfo& device, const MatvecTuning& tuning) {
  return device.subgroups && device.subgroup_min > 0 && tuning.lanes >= device.subgroup_max;
}

// Bytes of a row of a tile of gemm_matrix.wgsl, and of one product of each subgroup.
uint32_t row_bytes(const gpu::DeviceInfo& device, const MatrixTuning& t) {
  return (t.step_units * 4 * vecs_of_eight(device) + 1) * 16;
}
uint32_t products_bytes(const gpu::DeviceInfo& device, const MatrixTuning& t) {
  return t.subgroups_m * t.subgroups_n * t.subgroups_k * device.matrix.m * device.matrix.n * 4;
}

// Bytes of workgroup memory of gemm_matrix.wgsl.
uint32_t matrix_workgroup_bytes(const gpu::DeviceInfo& device, const MatrixTuning& t) {
  const MatrixTile tile = tile_of(device, t);
  // Products have the place of the weights at the end.
  return tile.m * row_bytes(device, t) +
         std::max(tile.n * row_bytes(device, t), products_bytes(device, t));
}

}  // namespace

bool makes_norm(const gpu::DeviceInfo& device, const MatmulTuning& tuning) {
  return tuning.kernel == MatmulKernel::kMatvec && tuning.matvec.own_int8 && device.subgroups &&
         device.subgroup_min >= 8;
}

uint32_t outputs_of(const MatmulArgs& args, const MatvecTuning& tuning) {
  const uint32_t groups = tuning.workgroup / tuning.lanes * tuning.groups;
  return groups * (is_gated(args.epilogue) ? quant::kGroupRows / 2 : quant::kGroupRows);
}

uint32_t matvec_workgroup_bytes(const gpu::DeviceInfo& device, const MatmulArgs& args,
                                const MatvecTuning& tuning) {
  const uint32_t parts =
      sums_by_subgroup(device, tuning) ? tuning.workgroup / device.subgroup_min : tuning.workgroup;
  // The bytes of x and, for a norm, the sums of squares.
  const uint32_t own = tuning.own_int8
                           ? units(args) * k_slots(args) * planes(args) * kOwnBytesOfUnit +
                                 tuning.workgroup / std::max(8u, device.subgroup_min) * 4
                       : args.handed ? tuning.workgroup / std::max(8u, device.subgroup_min) * 4
                                     : 0;
  const uint32_t finished =
      args.hands ? outputs_of(args, tuning) * tuning.columns * uint32_t{sizeof(float)} : 0;
  return parts * tuning.groups * tuning.columns * 16 + own + finished;
}

uint32_t gemm_workgroup_bytes(const GemmTuning& t) {
  return t.sets * t.step_units * 8 * (t.rows + t.teams) * kTileBytesOfUnit;
}

MatrixTile tile_of(const gpu::DeviceInfo& device, const MatrixTuning& t) {
  return {.m = t.subgroups_m * t.fragments_m * device.matrix.m,
          .n = t.subgroups_n * t.fragments_n * device.matrix.n,
          .workgroup = t.subgroups_m * t.subgroups_n * t.subgroups_k * device.subgroup_max};
}

uint32_t matrix_products_at_once(const gpu::DeviceInfo& device, const MatrixTuning& t) {
  const bool fits =
      t.fragments_n * products_bytes(device, t) <= tile_of(device, t).n * row_bytes(device, t);
  return fits ? t.fragments_n : 1;
}

bool has_matrix(const gpu::DeviceInfo& device, const MatmulArgs& args) {
  return args.numerics == Numerics::kFast && args.max_rows > (args.parts ? kMatvecRows : 1) &&
         has_operands(device) && device.matrix.k >= 8 && 32 % device.matrix.k == 0 &&
         device.matrix.n % 8 == 0 && device.subgroup_min > 0 &&
         device.subgroup_min == device.subgroup_max && fits_f16(args.weight.type);
}

bool suits(const gpu::DeviceInfo& device, const MatmulArgs& args, const MatrixTuning& t) {
  const MatrixTile tile = tile_of(device, t);
  const uint32_t w_items = tile.n * t.step_units * (is_float_type(args.weight.type) ? 4 : 1);
  const bool splits_fit = t.n_splits == 1 || !args.parts;
  // A single workgroup of one step a turn may end within a step.
  const bool whole_turns = (t.n_splits == 1 && t.steps_ahead == 1) ||
                           units(args) % (t.n_splits * t.step_units * t.steps_ahead) == 0;
  return splits_fit && whole_turns && tile.m * t.step_units * 4 % tile.workgroup == 0 &&
         tile.workgroup % (t.step_units * 4) == 0 && w_items % tile.workgroup == 0 &&
         t.step_units * 32 % (device.matrix.k * t.subgroups_k) == 0 &&
         tile.workgroup <= device.limits.max_workgroup_invocations &&
         matrix_workgroup_bytes(device, t) <= device.limits.max_workgroup_bytes;
}

bool tuning_fits(const gpu::DeviceInfo& device, const MatmulArgs& args,
                 const MatmulTuning& tuning) {
  const gpu::Limits& limits = device.limits;
  if (tuning.kernel == MatmulKernel::kMatrix)
    return has_matrix(device, args) && suits(device, args, tuning.matrix);
  if (tuning.kernel == MatmulKernel::kGemm) {
    // The f32 form has one shape of workgroup, which every device takes.
    if (!uses_int8(args, tuning)) return true;
    const GemmTuning& t = tuning.gemm;
    return 8 * t.teams * t.sets <= limits.max_workgroup_invocations &&
           gemm_workgroup_bytes(t) <= limits.max_workgroup_bytes;
  }
  const MatvecTuning& t = tuning.matvec;
  const bool odd = t.lanes == 0 || t.workgroup % t.lanes != 0;
  return !odd && t.workgroup <= limits.max_workgroup_invocations &&
         (!is_gated(args.epilogue) || t.workgroup / t.lanes * t.groups % 2 == 0) &&
         matvec_workgroup_bytes(device, args, t) <= limits.max_workgroup_bytes;
}

}  // namespace puna::kernels
