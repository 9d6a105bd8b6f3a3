// Without matrix tiles: instead of matmul_amx_cpu.cpp where the processor's family has none.
#include "base/check.h"
#include "kernels/matmul/job.h"

namespace puna::kernels {

bool matrix_tiles_run_here() { return false; }

void matmul_matrix_items(const MatmulJob&, uint32_t, uint32_t) { PUNA_CHECK(false); }

}  // namespace puna::kernels
