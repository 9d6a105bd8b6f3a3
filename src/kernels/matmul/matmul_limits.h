// Inside the GPU form of matmul.h: what a product is made of, and what its templates need of a
// device.
#pragma once

#include "kernels/common/describe.h"
#include "kernels/matmul/matmul_gpu.h"
#include "kernels/matmul/matmul_parts.h"
#include "quant/planes.h"

namespace puna::kernels {

constexpr uint32_t kTileColumns = 64;  // gemm.wgsl: weight rows of a tile

inline bool is_float_type(quant::Type type) { return quant::info(type).block_elements == 1; }
inline bool may_use_int8(const MatmulArgs& args) {
  return args.numerics == Numerics::kFast && !is_float_type(args.weight.type);
}
inline bool uses_int8(const MatmulArgs& args, const MatmulTuning& tuning) {
  return tuning.int8 && may_use_int8(args);
}
inline uint32_t planes(const MatmulArgs& args) {
  return args.max_rows <= kMatvecRows && !args.parts ? args.x_planes : 1;
}
inline uint32_t units(const MatmulArgs& args) { return div_up(args.weight.cols, quant::kUnit); }
// f32 and bf16 weights keep a range or precision that f16 has not.
inline bool fits_f16(quant::Type type) {
  return type != quant::Type::kF32 && type != quant::Type::kBf16;
}
inline bool uses_matrix(const MatmulTuning& tuning) {
  return tuning.kernel == MatmulKernel::kMatrix;
}
inline bool needs_scratch(const MatmulArgs& args, const MatmulTuning& tuning) {
  if (uses_matrix(tuning)) return true;
  return uses_int8(args, tuning) && !args.handed &&
         !(tuning.kernel == MatmulKernel::kMatvec && tuning.matvec.own_int8);
}

// matvec_quantize.wgsl takes the norm's squares along where it works by subgroups.
bool makes_norm(const gpu::DeviceInfo& device, const MatmulTuning& tuning);
// Outputs of a workgroup.
uint32_t outputs_of(const MatmulArgs& args, const MatvecTuning& tuning);

// Bytes of workgroup memory of matvec.wgsl and of gemm_int8.wgsl.
uint32_t matvec_workgroup_bytes(const gpu::DeviceInfo& device, const MatmulArgs& args,
                                const MatvecTuning& tuning);
uint32_t gemm_workgroup_bytes(const GemmTuning& t);

struct MatrixTile {
  uint32_t m = 0, n = 0;  // rows of x and of the weight
  uint32_t workgroup = 0;
};
MatrixTile tile_of(const gpu::DeviceInfo& device, const MatrixTuning& t);
// Fragments of a subgroup that gemm_matrix.wgsl stores at a time: a row of them where they fit into
// the tile of weights, or one.
uint32_t matrix_products_at_once(const gpu::DeviceInfo& device, const MatrixTuning& t);
// Matrix units serve a product when they take whole units, and subgroups have one size.
bool has_matrix(const gpu::DeviceInfo& device, const MatmulArgs& args);
// The tile can be filled in whole passes of the workgroup, and the device can hold it.
bool suits(const gpu::DeviceInfo& device, const MatmulArgs& args, const MatrixTuning& t);

}  // namespace puna::kernels
