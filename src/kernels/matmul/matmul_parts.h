// Inside the GPU form of matmul.h: what MatmulParts changes about a call.
#pragma once

#include "kernels/common/describe.h"
#include "kernels/matmul/matmul.h"

namespace puna::kernels {

// Rows of one matrix: all of the weight's unless it has parts.
uint32_t part_rows(const MatmulArgs& args);
// Weight rows that a row of x meets, of all its parts side by side.
uint32_t work_rows(const MatmulArgs& args);
// Rows of x for each row of the step.
uint32_t x_slots(const MatmulArgs& args);
// How often K is gone through: for each slot when they are summed.
uint32_t k_slots(const MatmulArgs& args);

base::Result<void> check_parts(const MatmulArgs& args);
// Bindings and defines of matmul_parts.wgsl for a chunk; nothing without parts.
void describe_parts(const MatmulArgs& args, const GpuWeight::Chunk& chunk, Describe& call);

// Grids of x by tiles of `tile_m` rows (y and z), and of a mat-vec of `columns` rows (z).
std::pair<GridDim, GridDim> tile_grid(const MatmulArgs& args, uint32_t tile_m);
GridDim matvec_grid(const MatmulArgs& args, uint32_t columns);

// Words of MatmulParts::groups before the sorted pairs, and of all.
uint32_t group_tiles_words(uint32_t max_pairs, uint32_t n_parts, uint32_t tile_rows);
uint32_t group_words(uint32_t max_pairs, uint32_t n_parts, uint32_t tile_rows);

}  // namespace puna::kernels
