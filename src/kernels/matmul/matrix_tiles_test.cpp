// The tile kernel with a plain form of the tile instructions, so that its layouts and scaling are
// shown on processors without AMX; `puna selftest --cpu-variant amx_int8` shows the instructions
// themselves.
#include "kernels/matmul/matrix_tiles.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>

#include "kernels/common/test_util.h"
#include "quant/random_rows.h"

namespace puna::kernels {
namespace {

// The tile registers as the manual defines them.
struct PlainOps {
  struct Tile {
    uint8_t bytes[16][64];
  };
  static inline TileConfig config;
  static inline Tile tiles[8];
  static inline int n_uses = 0;

  static void configure(const TileConfig& c) { config = c; }
  static void release() { config = {.palette = 0}; }
  template <int kTile>
  static void zero() {
    std::memset(&tiles[kTile], 0, sizeof(Tile));
  }
  template <int kTile>
  static void load(const void* from, size_t stride) {
    zero<kTile>();
    for (size_t r = 0; r < config.rows[kTile]; ++r) {
      std::memcpy(tiles[kTile].bytes[r], static_cast<const char*>(from) + r * stride,
                  config.row_bytes[kTile]);
    }
  }
  template <int kTile>
  static void store(void* to, size_t stride) {
    for (size_t r = 0; r < config.rows[kTile]; ++r) {
      std::memcpy(static_cast<char*>(to) + r * stride, tiles[kTile].bytes[r],
                  config.row_bytes[kTile]);
    }
  }
  template <int kSums, int kSigned, int kUnsigned>
  static void multiply() {
    REQUIRE(config.palette == 1);
    REQUIRE(config.rows[kSums] == config.rows[kSigned]);
    REQUIRE(config.row_bytes[kSums] == config.row_bytes[kUnsigned]);
    REQUIRE(config.row_bytes[kSigned] == 4 * config.rows[kUnsigned]);
    ++n_uses;
    for (size_t m = 0; m < config.rows[kSums]; ++m) {
      for (size_t n = 0; n < config.row_bytes[kSums] / 4u; ++n) {
        int32_t sum = 0;
        std::memcpy(&sum, &tiles[kSums].bytes[m][4 * n], 4);
        for (size_t k = 0; k < config.row_bytes[kSigned]; ++k) {
          sum += static_cast<int8_t>(tiles[kSigned].bytes[m][k]) *
                 tiles[kUnsigned].bytes[k / 4][4 * n + k % 4];
        }
        std::memcpy(&tiles[kSums].bytes[m][4 * n], &sum, 4);
      }
    }
  }
};

struct Aligned {
  explicit Aligned(uint64_t bytes) : memory(static_cast<size_t>(bytes) + 64) {}
  std::byte* data() {
    return memory.data() + (64 - reinterpret_cast<uintptr_t>(memory.data()) % 64) % 64;
  }
  std::vector<std::byte> memory;
};

void check(quant::Type type, uint32_t rows, uint32_t cols, uint32_t n_rows, uint32_t tile_rows) {
  INFO(quant::info(type).name << " " << rows << " x " << cols << ", " << n_rows << " rows");
  auto matrix = CpuMatrix::create(type, rows, cols, Numerics::kFast);
  REQUIRE(matrix.has_value());
  matrix->set_rows(0, quant::random_rows(type, rows, cols, 3));
  const std::vector<float> x = test::normal(size_t{n_rows} * cols, 7);
  std::vector<float> expected(size_t{n_rows} * rows), y = expected;
  Aligned scratch(matmul_cpu_scratch_bytes(cols, n_rows + kMatrixRows));
  MatmulCpuArgs args{.weight = &*matrix,
                     .x = x.data(),
                     .y = expected.data(),
                     .n_rows = n_rows,
                     .y_stride = rows,
                     .scratch = scratch.data()};
  base::ThreadPool pool(1);
  matmul_cpu(pool, args);

  args.y = y.data();
  args.x_stride = cols;
  MatmulJob job;
  job.args = args;
  job.type = type;
  job.rows = rows;
  job.cols = cols;
  job.group_bytes = packed_group_bytes(type, cols);
  job.packed = matrix->data();
  job.x8 = quantized_rows(scratch.data(), cols, n_rows, kMatrixRows);
  job.n_groups = (rows + kGroupRows - 1) / kGroupRows;
  job.tile_rows = tile_rows;
  quantize_tiles(job, 0, (n_rows + kMatrixRows - 1) / kMatrixRows);
  matrix_items<PlainOps>(job, 0, job.n_groups * ((n_rows + tile_rows - 1) / tile_rows));
  CHECK(y == expected);
}

TEST_CASE("products by matrix tiles are those of AVX-512 to the bit") {
  const std::vector<std::string_view> names = cpu_variants();
  if (std::find(names.begin(), names.end(), "avx512_vnni") == names.end()) {
    MESSAGE(
        "SKIPPED: the sums of tiles are scaled by AVX-512, which this processor does not have.");
    return;
  }
  REQUIRE(set_cpu_variant("avx512_vnni").has_value());
  for (const quant::TypeInfo& info : quant::types()) {
    if (is_float(info.type)) continue;
    PlainOps::n_uses = 0;
    // One to five units a panel, and more than one panel; rows that fill tiles and that do not.
    for (const uint32_t blocks : {1u, 2u, 3u, 5u})
      check(info.type, 37, info.block_elements * blocks, 16 * blocks + 3, 32);
    // Last tiles of up to 4, 8, 12 and 16 rows.
    for (const uint32_t n_rows : {20u, 22u, 9u, 31u}) check(info.type, 16, 1280, n_rows, 32);
    CHECK(PlainOps::n_uses > 0);
  }
  check(quant::Type::kQ4_1, 48, 576, 300, 256);
  REQUIRE(set_cpu_variant(names.front()).has_value());
}

}  // namespace
}  // namespace puna::kernels
