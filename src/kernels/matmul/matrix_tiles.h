// Products of many activation rows by matrix tiles: one instruction multiplies 16 activation rows
// by a unit, or half a unit, of a panel (panel.h), and leaves 16 x 16 sums of 32 bits. The codes of
// a panel are its second operand as they lie; the first are 16 rows of the quantized activations,
// which lie row by row for this (QuantizedRows). Then AVX-512 scales the sums.
//
// Ops are the tile instructions: those of the processor (matmul_amx_cpu.cpp), or a plain form of
// the same arithmetic for tests on processors without them. Intel 64 and IA-32 Architectures
// Software Developer's Manual, volume 1, chapter 18.
#pragma once

#include <immintrin.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "kernels/matmul/panel.h"

namespace puna::kernels {

// The operand of LDTILECFG: rows, and bytes of a row, of each tile register.
struct alignas(64) TileConfig {
  uint8_t palette = 1;
  uint8_t start_row = 0;
  std::array<uint8_t, 14> reserved = {};
  std::array<uint16_t, 16> row_bytes = {};
  std::array<uint8_t, 16> rows = {};
};
static_assert(sizeof(TileConfig) == 64);

// Products that are under way at a time: their latency is some times as long as the scaling of one.
constexpr size_t kProductsAhead = 4;

// Product p has its sums in register p % 4, activations in 4 + p % 2 and codes in 6 + p % 2.
constexpr TileConfig tile_config(uint32_t halves) {
  const auto columns = static_cast<uint8_t>(kUnitCols / halves);
  TileConfig config;
  for (size_t i = 0; i < kProductsAhead; ++i) {
    config.rows[i] = kMatrixRows;
    config.row_bytes[i] = 4 * kGroupRows;
  }
  for (size_t i = 0; i < 2; ++i) {
    config.rows[4 + i] = kMatrixRows;
    config.row_bytes[4 + i] = columns;
    config.rows[6 + i] = columns / 4;
    config.row_bytes[6 + i] = 4 * kGroupRows;
  }
  return config;
}

// The products of 16 activation rows with n_products units (or halves) of a panel.
template <class Ops, size_t kHalves>
struct MatrixTile {
  using Sums = int32_t[kMatrixRows][kGroupRows];  // [activation row][weight row]
  using Words [[gnu::vector_size(64), gnu::may_alias]] = int32_t;
  const int8_t* x;      // [units][16][32]
  const float* scale;   // [units][16]
  const float* x_sums;  // [products][16]
  const Panel* panel;
  alignas(64) Sums sums[kProductsAhead];

  template <int kSlot>
  void multiply(size_t product) {
    constexpr size_t kColumns = kUnitCols / kHalves;
    constexpr int kX = 4 + kSlot % 2, kCodes = 6 + kSlot % 2;
    Ops::template load<kX>(
        x + product / kHalves * (kMatrixRows * kUnitCols) + product % kHalves * kColumns,
        kUnitCols);
    Ops::template load<kCodes>(panel->codes + product * (kColumns * kGroupRows), 4 * kGroupRows);
    Ops::template zero<kSlot>();
    Ops::template multiply<kSlot, kX, kCodes>();
    Ops::template store<kSlot>(sums[kSlot], sizeof(sums[kSlot][0]));
  }

  // The registers' numbers are part of the instructions.
  void start(size_t product) {
    switch (product % kProductsAhead) {
      case 0:
        return multiply<0>(product);
      case 1:
        return multiply<1>(product);
      case 2:
        return multiply<2>(product);
      default:
        return multiply<3>(product);
    }
  }

  // As the other kernels do it (Rows::half), so that results are the same to the bit.
  template <size_t kRows>
  [[gnu::target("avx512f"), gnu::always_inline]] inline void add(size_t product,
                                                                 __m512 (&f)[kRows]) const {
    const Sums& product_sums = sums[product % kProductsAhead];
    const __m512 a = _mm512_load_ps(panel->a + product * kGroupRows);
    const __m512 b = _mm512_load_ps(panel->b + product * kGroupRows);
    const float* row_scale = scale + product / kHalves * kMatrixRows;
    const float* row_sum = x_sums + product * kMatrixRows;
    // Unrolled early, or GCC keeps the sums in memory.
#pragma GCC unroll 16
    for (size_t t = 0; t < kRows; ++t) {
      // Not _mm512_cvtepi32_ps, of which GCC 12 says that something is not initialized (PR 105593).
      const __m512 sum =
          __builtin_convertvector(*reinterpret_cast<const Words*>(product_sums[t]), __m512);
      f[t] = _mm512_fmadd_ps(_mm512_mul_ps(sum, _mm512_set1_ps(row_scale[t])), a, f[t]);
      f[t] = _mm512_fmadd_ps(b, _mm512_set1_ps(row_sum[t]), f[t]);
    }
  }

  // The first kRows of the 16 rows: sums of others are not scaled, which is most of the work.
  template <size_t kRows>
  [[gnu::target("avx512f")]] void run(size_t n_products, bool first, float* out) {
    __m512 f[kRows];
#pragma GCC unroll 16
    for (size_t t = 0; t < kRows; ++t)
      f[t] = first ? _mm512_setzero_ps() : _mm512_load_ps(out + t * kGroupRows);
    for (size_t product = 0; product < std::min(kProductsAhead, n_products); ++product)
      start(product);
    for (size_t product = 0; product < n_products; ++product) {
      add(product, f);
      if (product + kProductsAhead < n_products) start(product + kProductsAhead);
    }
#pragma GCC unroll 16
    for (size_t t = 0; t < kRows; ++t) _mm512_store_ps(out + t * kGroupRows, f[t]);
  }

  // The first n_rows, or up to three more, of which there is nothing but zeros.
  void run(size_t n_rows, size_t n_products, bool first, float* out) {
    if (n_rows > 12) return run<16>(n_products, first, out);
    if (n_rows > 8) return run<12>(n_products, first, out);
    n_rows > 4 ? run<8>(n_products, first, out) : run<4>(n_products, first, out);
  }
};

template <class Ops, size_t kHalves>
void multiply_by_tiles(const MatmulJob& job, const Panel& panel, uint32_t unit, uint32_t n_units,
                       uint32_t first, uint32_t n, float* sums) {
  const QuantizedRows& x = job.x8;
  MatrixTile<Ops, kHalves> tile;
  tile.panel = &panel;
  for (uint32_t t = 0; t < n; t += kMatrixRows) {
    const size_t at = (size_t{(first + t) / kMatrixRows} * x.units + unit) * kMatrixRows;
    tile.x = x.codes + at * kUnitCols;
    tile.scale = x.scale + at;
    tile.x_sums = kHalves == 2 ? x.half_sums + at * 2 : x.sums + at;
    tile.run(n - t, n_units * kHalves, unit == 0, sums + size_t{t} * kGroupRows);
  }
}

// Items of a job whose activations lie for tiles.
template <class Ops>
void matrix_items(const MatmulJob& job, uint32_t begin, uint32_t end) {
  const bool two = panel_format(job.type).halves == 2;
  static constexpr TileConfig kConfigs[] = {tile_config(1), tile_config(2)};
  Ops::configure(kConfigs[two ? 1 : 0]);
  matmul_many_items(job, begin, end, two ? multiply_by_tiles<Ops, 2> : multiply_by_tiles<Ops, 1>);
  Ops::release();
}

}  // namespace puna::kernels
