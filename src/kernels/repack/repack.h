// Repacking: rows as they lie in the file, staged in pieces, become planes of a weight on the GPU.
// The caller drives a ring of staging buffers; pipeline and bind group stay the same from piece to
// piece, only the params slice is rewritten.
#pragma once

#include <array>
#include <string>

#include "kernels/common/call.h"
#include "quant/quant.h"

namespace puna::kernels {

struct RepackArgs {
  std::string label;
  quant::Type type = quant::Type::kF32;
  uint32_t rows = 0;  // of the destination: a GpuWeight::Chunk, complete in itself
  uint32_t cols = 0;
  Slice params;  // repack_params(), 32 bytes
  Slice staged;  // file rows; a multiple of 4 bytes
  Slice planes;  // plane_layout(type, rows, cols).bytes
};

// Rows [first_row, first_row + n_rows) and, of each, columns [first_col, first_col + n_cols),
// staged row after row from source_byte.
struct RepackPiece {
  uint32_t first_row = 0;    // a multiple of 4
  uint32_t n_rows = 0;       // a multiple of 4, or up to the last row
  uint32_t first_col = 0;    // a multiple of the plane block: 256 for K types, else 32
  uint32_t n_cols = 0;       // a multiple of it, or up to the last column
  uint64_t source_byte = 0;  // any alignment
};

// The call for all pieces of one destination. The grid of a codebook type (quant::planes_of().grid)
// is written beside the planes by the caller, once. Its grid is that of the piece:
// repack_workgroups(). Errors: kInvalidArgument when the slices do not suit rows and cols.
base::Result<KernelCall> repack(const RepackArgs& args);

// Words for the params slice of one piece. Errors: kInvalidArgument naming the field that breaks a
// rule above.
base::Result<std::array<uint32_t, 8>> repack_params(const RepackArgs& args,
                                                    const RepackPiece& piece);
// Workgroups in x (y and z are 1).
uint32_t repack_workgroups(const RepackPiece& piece);

}  // namespace puna::kernels
