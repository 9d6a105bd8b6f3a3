// The planes a GPU makes of file bytes are those of quant::pack(), bit for bit.
#include <doctest/doctest.h>

#include <algorithm>

#include "kernels/repack/repack.h"
#include "kernels/testing/gpu_harness.h"
#include "quant/planes.h"
#include "quant/random_rows.h"

using namespace puna;
using namespace puna::kernels;

namespace {

// Repacks `pieces` one after the other, each staged at an odd place, and compares with pack().
void check_repack(test::GpuHarness& gpu, quant::Type type, uint32_t rows, uint32_t cols,
                  const std::vector<RepackPiece>& pieces) {
  const std::vector<std::byte> file =
      quant::random_rows(type, rows, cols, rows * cols, 0.02f, /*extremes=*/true);
  const quant::PlaneLayout layout = quant::plane_layout(type, rows, cols);
  std::vector<std::byte> expected(layout.bytes);
  quant::pack(layout, file, expected);

  RepackArgs args;
  args.label = "w";
  args.type = type;
  args.rows = rows;
  args.cols = cols;
  args.params = gpu.upload(std::vector<uint32_t>(8));
  args.staged = gpu.upload(std::vector<std::byte>(file.size() + 16, std::byte{0xa5}));
  std::vector<std::byte> planes(layout.bytes);
  const std::vector<uint32_t>& grid = quant::planes_of(type).grid;
  std::ranges::copy(std::as_bytes(std::span(grid)),
                    planes.begin() + static_cast<std::ptrdiff_t>(layout.grid_offset_bytes));
  args.planes = gpu.upload(planes);
  auto call = repack(args);
  REQUIRE_MESSAGE(call, call.error().text());
  for (const RepackPiece& piece : pieces) {
    const auto params = repack_params(args, piece);
    REQUIRE_MESSAGE(params, params.error().text());
    const uint64_t row_bytes = quant::row_bytes(type, cols);
    const uint64_t piece_bytes = quant::row_bytes(type, piece.n_cols);
    std::vector<std::byte> staged(args.staged.bytes, std::byte{0xa5});
    for (uint32_t r = 0; r < piece.n_rows; ++r) {
      std::memcpy(
          &staged[piece.source_byte + r * piece_bytes],
          &file[(piece.first_row + r) * row_bytes + quant::row_bytes(type, piece.first_col)],
          piece_bytes);
    }
    gpu.write(args.staged, staged);
    gpu.write(args.params, std::as_bytes(std::span(*params)));
    call->x = {Extent::kOne, repack_workgroups(piece), 1};
    gpu.run(std::span(&*call, 1));
  }
  CHECK(gpu.read<std::byte>(args.planes) == expected);
}

}  // namespace

TEST_CASE("gpu: repacking gives the planes of pack for every type, piece by piece") {
  for (const test::Features features : {test::Features::kAll, test::Features::kBaseline}) {
    const auto gpu = test::GpuHarness::open(features);
    if (!gpu) return;
    for (const quant::TypeInfo& type : quant::types()) {
      CAPTURE(type.name);
      const uint32_t cols = type.block_elements == 1 ? 96 : 3 * type.block_elements;
      check_repack(*gpu, type.type, 10, cols, {{0, 10, 0, cols, 0}});
      check_repack(*gpu, type.type, 10, cols,
                   {{8, 2, 0, cols, 1}, {0, 4, 0, cols, 2}, {4, 4, 0, cols, 3}});
    }
  }
}

TEST_CASE("gpu: a piece may hold some columns of a group only, and float rows may end anywhere") {
  const auto gpu = test::GpuHarness::open();
  if (!gpu) return;
  for (const quant::TypeInfo& type : quant::types()) {
    CAPTURE(type.name);
    const uint32_t block = quant::planes_of(type.type).block_elements;
    const uint32_t cols = type.block_elements == 1 ? 2 * block + 13 : 3 * block;
    check_repack(*gpu, type.type, 5, cols,
                 {{0, 5, 0, 2 * block, 5}, {0, 5, 2 * block, cols - 2 * block, 7}});
  }
}
