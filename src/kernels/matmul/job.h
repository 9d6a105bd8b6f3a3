// What matmul_cpu.cpp hands to the kernels of one product: plain pointers, the same for every
// variant.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/matmul/matmul.h"
#include "kernels/matmul/packed.h"

namespace puna::kernels {

// Plain WebAssembly SIMD multiplies 16-bit lanes and no bytes: there codes are widened once, and
// four columns lie in the order 0, 2, 1, 3.
#if defined(__wasm__) && !defined(__wasm_relaxed_simd__)
using ActivationCode = int16_t;
#else
using ActivationCode = int8_t;
#endif

// Activation rows that lie together for matrix instructions (matrix_tiles.h,
// matmul_i8mm_cpu.cpp).
constexpr uint32_t kMatrixRows = 16;

// Activations as int8 with a scale per unit of 32 columns, tiles of `width` rows side by side (as
// many as there are up to 2, else 4, or kMatrixRows for matrix instructions; the last tile is
// filled up with zeros). Row t lies in tile t / width at place t % width. With two planes a row of
// x is two rows here, one after the other: its codes, and those of what their rounding left;
// products of both are added up.
struct QuantizedRows {
  uint32_t width = 0;
  uint32_t planes = 1;
  uint32_t units = 0;               // of 32 columns
  ActivationCode* codes = nullptr;  // [tiles][units * 8][width][4 columns], or row by row for
                                    // matrix instructions: [tiles][units][width][32 columns]
  float* scale = nullptr;           // [tiles][units][width]      x = scale * code
  float* sums = nullptr;            // [tiles][units][width]      scale * sum of the codes
  float* half_sums = nullptr;       // [tiles][2 * units][width]  the same over 16 columns
};
// n_rows counts the rows of all planes.
QuantizedRows quantized_rows(std::byte* scratch, uint32_t cols, uint32_t n_rows, uint32_t width);

struct MatmulJob {
  MatmulCpuArgs args;
  quant::Type type = quant::Type::kF32;
  uint32_t rows = 0;
  uint32_t cols = 0;
  uint64_t group_bytes = 0;
  const std::byte* packed = nullptr;
  QuantizedRows x8;             // of the int8 kernels
  uint32_t* x16 = nullptr;      // of the bf16 kernel: pairs of columns, [n_rows][(cols + 1) / 2]
  uint16_t* x_split = nullptr;  // of the split products (split_tiles.h)
  uint32_t n_groups = 0;        // of 16 weight rows; of split products, blocks of two
  uint32_t tile_rows = 0;       // activation rows an item covers, at most kTileRows
};
// Activation rows that share one unpacking of a weight group.
constexpr uint32_t kTileRows = 256;
// The same of split products, whose weights take longer to unpack.
constexpr uint32_t kSplitTileRows = 512;
// An item of a job: n activation rows from `first` on, by the weight rows of one group.
struct MatmulItem {
  uint32_t group, first, n;
};
inline MatmulItem item_of(const MatmulJob& job, uint32_t item) {
  const uint32_t first = item / job.n_groups * job.tile_rows;
  const uint32_t left = job.args.n_rows - first;
  return {item % job.n_groups, first, left < job.tile_rows ? left : job.tile_rows};
}
// Up to this many rows of x8 decode packed weights on the way; more share a panel (panel.h).
constexpr uint32_t kFewRows = 8;

struct Panel;
// Adds a panel's units, which are those from `unit` on, to sums [n][16] of the rows of x8 from
// `first` on.
using MultiplyPanel = void (*)(const MatmulJob& job, const Panel& panel, uint32_t unit,
                               uint32_t n_units, uint32_t first, uint32_t n, float* sums);

// Items of a job: item i is weight group i % n_groups, activation rows from (i / n_groups) *
// tile_rows on.
void matmul_f32_items(const MatmulJob& job, uint32_t begin, uint32_t end);
// Of x8: few rows by SmallBlocks, KBlocks and OtherBlocks, and many rows by any type.
void matmul_few_small_items(const MatmulJob& job, uint32_t begin, uint32_t end);
void matmul_few_k_items(const MatmulJob& job, uint32_t begin, uint32_t end);
void matmul_few_other_items(const MatmulJob& job, uint32_t begin, uint32_t end);
void matmul_many_items(const MatmulJob& job, uint32_t begin, uint32_t end,
                       MultiplyPanel multiply = nullptr);  // null: as the variant does it
// Of x8 of kMatrixRows; only where matrix instructions for int8 run.
bool int8_matrix_runs_here();
void matmul_matrix_items(const MatmulJob& job, uint32_t begin, uint32_t end);
// Whether an Arm processor has sdot, which the kernels of x8 then use.
bool dot_products_run_here();
// Of x16; only where bf16 products run and pay.
bool bf16_products_run_here();
void matmul_bf16_items(const MatmulJob& job, uint32_t begin, uint32_t end);
// Of x_split, float weights by more than kFewRows; only where matrix instructions for bf16 run.
bool bf16_matrix_runs_here();
void matmul_split_items(const MatmulJob& job, uint32_t begin, uint32_t end);
// The end of an item that no variant's kernel made: its sums [n_rows + 1][16] to y.
void finish_group(const MatmulJob& job, uint32_t group, uint32_t first_row, uint32_t n_rows,
                  float* sums);
// Quantizes tiles [begin, end) of job.args.x into job.x8.
void quantize_tiles(const MatmulJob& job, uint32_t begin, uint32_t end);
// Rounds rows [begin, end) of job.args.x into job.x16.
void round_to_bf16(const MatmulJob& job, uint32_t begin, uint32_t end);
// Splits tiles [begin, end) of kMatrixRows of job.args.x into job.x_split.
void split_rows(const MatmulJob& job, uint32_t begin, uint32_t end);

}  // namespace puna::kernels
