// What the running CPU variant (cpu_variant() of matmul/cpu_matrix.h) uses beyond the target of
// Highway that it is compiled for.
#pragma once

namespace puna::kernels {

struct CpuExtensions {
  bool int8_tiles = false;  // matrix_tiles.h
  bool operator==(const CpuExtensions&) const = default;
};
const CpuExtensions& cpu_extensions();

}  // namespace puna::kernels
