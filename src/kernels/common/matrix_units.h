// What templates that work by matrix units (subgroup matrices) share; the text is in
// matrix_units.wgsl.
#pragma once

#include "gpu/device.h"

namespace puna::kernels {

// f16 operands are a type of the shader's, f32 ones need nothing more.
inline bool has_operands(const gpu::DeviceInfo& device) { return device.matrix.f32 || device.f16; }
// vec4 in workgroup memory that eight elements of an operand take.
inline uint32_t vecs_of_eight(const gpu::DeviceInfo& device) { return device.matrix.f32 ? 2 : 1; }

}  // namespace puna::kernels
