// Where processors have no products of bf16 that Puna uses (matmul_bf16_cpu.cpp,
// matmul_split_cpu.cpp).
#include "base/check.h"
#include "kernels/matmul/job.h"

namespace puna::kernels {

bool bf16_products_run_here() { return false; }

void round_to_bf16(const MatmulJob&, uint32_t, uint32_t) { PUNA_CHECK(false); }

void matmul_bf16_items(const MatmulJob&, uint32_t, uint32_t) { PUNA_CHECK(false); }

bool bf16_matrix_runs_here() { return false; }

void split_rows(const MatmulJob&, uint32_t, uint32_t) { PUNA_CHECK(false); }

void matmul_split_items(const MatmulJob&, uint32_t, uint32_t) { PUNA_CHECK(false); }

}  // namespace puna::kernels
