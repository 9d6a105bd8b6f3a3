// Splits a product over the pool: activations are quantized once, then items of 16 weight rows by
// up to kTileRows activation rows.
#include <algorithm>
#include <functional>

#include "base/check.h"
#include "kernels/matmul/job.h"

namespace puna::kernels {
namespace {

uint32_t padded_rows(uint32_t n_rows) { return n_rows == 1 ? 1 : (n_rows + 3) / 4 * 4; }
uint64_t aligned(uint64_t bytes) { return (bytes + 63) / 64 * 64; }

// Activation rows an item covers: all when weight groups alone give every thread enough items,
// fewer when they do not.
uint32_t choose_tile_rows(uint32_t n_rows, uint32_t n_groups, uint32_t n_threads) {
  uint32_t rows = std::min(n_rows, kTileRows);
  while (rows > 16 && n_groups * ((n_rows + rows - 1) / rows) < 4 * n_threads)
    rows = (rows / 2 + 3) / 4 * 4;
  return rows;
}

// Items that make a chunk worth taking: about 4 KiB of weights times activation rows.
uint32_t choose_grain(const MatmulJob& job) {
  const uint64_t work = job.group_bytes * job.tile_rows;
  return static_cast<uint32_t>(std::clamp<uint64_t>(16384 / std::max<uint64_t>(work, 1), 1, 64));
}

}  // namespace

QuantizedRows quantized_rows(std::byte* scratch, uint32_t cols, uint32_t n_rows) {
  const uint64_t rows = padded_rows(n_rows);
  QuantizedRows q;
  q.width = n_rows == 1 ? 1 : 4;
  q.units = (cols + kUnitCols - 1) / kUnitCols;
  q.codes = reinterpret_cast<int8_t*>(scratch);
  std::byte* floats = scratch + aligned(rows * q.units * kUnitCols);
  q.scale = reinterpret_cast<float*>(floats);
  q.sums = q.scale + rows * q.units;
  q.half_sums = q.sums + rows * q.units;
  return q;
}

uint64_t matmul_cpu_scratch_bytes(uint32_t cols, uint32_t max_rows) {
  const uint64_t rows = padded_rows(max_rows);
  const uint64_t units = (cols + kUnitCols - 1) / kUnitCols;
  return aligned(rows * units * kUnitCols) + aligned(rows * units * 4 * sizeof(float));
}

void matmul_cpu(base::ThreadPool& pool, const MatmulCpuArgs& args) {
  const CpuMatrix& weight = *args.weight;
  if (args.n_rows == 0) return;
  MatmulJob job;
  job.args = args;
  job.type = weight.type();
  job.rows = weight.rows();
  job.cols = weight.cols();
  job.packed = weight.data();
  job.group_bytes = packed_group_bytes(job.type, job.cols);
  job.n_groups = (job.rows + kGroupRows - 1) / kGroupRows;
  job.tile_rows =
      choose_tile_rows(args.n_rows, job.n_groups, static_cast<uint32_t>(pool.n_threads()));
  const bool gated = args.epilogue == Epilogue::kSwiGlu || args.epilogue == Epilogue::kGeGlu;
  PUNA_CHECK(!gated || (job.rows % 8 == 0 && !args.bias));
  const bool int8 = weight.numerics() == Numerics::kFast && !is_float(job.type);
  if (int8) {
    PUNA_CHECK(args.scratch != nullptr);
    job.x8 = quantized_rows(args.scratch, job.cols, args.n_rows);
    if (!args.x_in_scratch) {
      const auto quantize = [&](uint32_t begin, uint32_t end) { quantize_tiles(job, begin, end); };
      const uint32_t tiles = (args.n_rows + job.x8.width - 1) / job.x8.width;
      pool.run(tiles, std::max(8192 / (job.cols * job.x8.width), 1u), std::ref(quantize));
    }
  }
  const auto multiply = [&](uint32_t begin, uint32_t end) {
    int8 ? matmul_int8_items(job, begin, end) : matmul_f32_items(job, begin, end);
  };
  const uint32_t row_tiles = (args.n_rows + job.tile_rows - 1) / job.tile_rows;
  pool.run(job.n_groups * row_tiles, choose_grain(job), std::ref(multiply));
}

}  // namespace puna::kernels
