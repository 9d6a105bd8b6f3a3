#include "kernels/repack/repack.h"

#include <fmt/format.h>

#include "kernels/common/weight_defines.h"
#include "quant/planes.h"

namespace puna::kernels {
namespace {

constexpr uint32_t kWorkgroup = 64;  // repack.wgsl

uint32_t units(uint32_t cols) { return (cols + quant::kUnit - 1) / quant::kUnit; }

}  // namespace

base::Result<KernelCall> repack(const RepackArgs& args) {
  PUNA_TRY(check_weight_shape(args.label, args.type, args.rows, args.cols));
  const quant::PlaneLayout layout = quant::plane_layout(args.type, args.rows, args.cols);
  if (args.planes.bytes < layout.bytes) {
    return base::fail(base::ErrorCode::kInvalidArgument,
                      fmt::format("The slice for the planes of {} has {} bytes and needs {}.",
                                  args.label, args.planes.bytes, layout.bytes));
  }
  KernelCall call;
  call.label = args.label;
  call.kernel = "repack/repack.wgsl";
  call.defines = weight_defines(args.type, args.rows, args.cols);
  const uint32_t block = quant::planes_of(args.type).block_elements;
  call.defines["BLOCK_UNITS"] = fmt::format("{}u", block / quant::kUnit);
  call.defines["BLOCK_BYTES"] = fmt::format("{}u", quant::row_bytes(args.type, block));
  call.bindings = {{args.params, gpu::Access::kRead},
                   {args.staged, gpu::Access::kRead},
                   {args.planes, gpu::Access::kReadWrite}};
  return call;
}

base::Result<std::array<uint32_t, 8>> repack_params(const RepackArgs& args,
                                                    const RepackPiece& piece) {
  const uint32_t block = quant::planes_of(args.type).block_elements;
  const auto refuse = [&](std::string_view what, uint64_t value) {
    return base::fail(base::ErrorCode::kInvalidArgument,
                      fmt::format("A piece of {} has {} = {}.", args.label, what, value));
  };
  const uint64_t row_end = uint64_t{piece.first_row} + piece.n_rows;
  const uint64_t col_end = uint64_t{piece.first_col} + piece.n_cols;
  if (piece.first_row % quant::kGroupRows != 0) return refuse("first_row", piece.first_row);
  if (piece.first_col % block != 0) return refuse("first_col", piece.first_col);
  if (row_end > args.rows || (row_end < args.rows && piece.n_rows % quant::kGroupRows != 0)) {
    return refuse("n_rows", piece.n_rows);
  }
  if (col_end > args.cols || (col_end < args.cols && piece.n_cols % block != 0)) {
    return refuse("n_cols", piece.n_cols);
  }
  const uint64_t row_bytes = quant::row_bytes(args.type, piece.n_cols);
  if (piece.source_byte + piece.n_rows * row_bytes > args.staged.bytes) {
    return refuse("end in the staging buffer", piece.source_byte + piece.n_rows * row_bytes);
  }
  return std::array<uint32_t, 8>{piece.first_row,
                                 piece.n_rows,
                                 piece.first_col / quant::kUnit,
                                 units(piece.n_cols),
                                 static_cast<uint32_t>(piece.source_byte),
                                 static_cast<uint32_t>(row_bytes),
                                 0,
                                 0};
}

uint32_t repack_workgroups(const RepackPiece& piece) {
  const uint64_t groups = (piece.n_rows + quant::kGroupRows - 1) / quant::kGroupRows;
  return static_cast<uint32_t>((groups * units(piece.n_cols) + kWorkgroup - 1) / kWorkgroup);
}

}  // namespace puna::kernels
