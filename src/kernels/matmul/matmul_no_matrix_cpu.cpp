// Where processors have no matrix products of int8 that Puna uses (matmul_amx_cpu.cpp,
// matmul_i8mm_cpu.cpp).
#include "base/check.h"
#include "kernels/matmul/job.h"

namespace puna::kernels {

bool int8_matrix_runs_here() { return false; }

bool dot_products_run_here() { return false; }

void matmul_matrix_items(const MatmulJob&, uint32_t, uint32_t) { PUNA_CHECK(false); }

}  // namespace puna::kernels
