// Instead of matmul_amx_cpu.cpp and matmul_bf16_cpu.cpp where the processor's family has neither.
#include "base/check.h"
#include "kernels/matmul/job.h"

namespace puna::kernels {

bool matrix_tiles_run_here() { return false; }

void matmul_matrix_items(const MatmulJob&, uint32_t, uint32_t) { PUNA_CHECK(false); }

bool bf16_products_run_here() { return false; }

void round_to_bf16(const MatmulJob&, uint32_t, uint32_t) { PUNA_CHECK(false); }

void matmul_bf16_items(const MatmulJob&, uint32_t, uint32_t) { PUNA_CHECK(false); }

}  // namespace puna::kernels
