// What the running CPU variant (cpu_variant() of matmul/cpu_matrix.h) uses beyond the target of
// Highway that it is compiled for.
#pragma once

namespace puna::kernels {

struct CpuExtensions {
  bool int8_matrix = false;   // matmul/matrix_tiles.h, matmul/matmul_i8mm_cpu.cpp
  bool dot_products = false;  // SdotForm of matmul/dot-inl.h
  bool bf16 = false;          // matmul/matmul_bf16_cpu.cpp
  bool bf16_matrix = false;   // matmul/matmul_split_cpu.cpp
  bool operator==(const CpuExtensions&) const = default;
};
const CpuExtensions& cpu_extensions();

}  // namespace puna::kernels
