// Products of many activation rows with float weights by matrix tiles of bf16. Each factor is
// split into two bf16 that add up to it but for 2^-17 of it; f16 and bf16 weights are split without
// a rest. Three of the four products (the fourth, of both second parts, is 2^-18 of the whole) are
// summed in f32, so that a result is as near to the exact one as the order of f32 sums lets it be.
//
// Activations lie as [tiles of 16 rows][units of 32 columns][2 parts][16][32]; a block of weights,
// two groups of 16 rows, is unpacked by kSplitPanelUnits units at a time into
// [units][2 parts][2 groups][16 pairs of columns][16 rows][2]. A step of a unit is 32 rows by two
// groups: four sums, twelve products. Ops are the tile instructions, as in matrix_tiles.h.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "kernels/matmul/job.h"
#include "kernels/matmul/matrix_tiles.h"

namespace puna::kernels {

constexpr size_t kSplitTileWords = kMatrixRows * kUnitCols;  // bf16 of a tile: 1 KiB
constexpr uint32_t kSplitPanelUnits = 8;

constexpr TileConfig split_tile_config() {
  TileConfig config;
  for (size_t i = 0; i < 8; ++i) {
    config.rows[i] = kMatrixRows;
    config.row_bytes[i] = 64;
  }
  return config;
}

// A panel's units for one block of weights.
struct alignas(64) SplitPanel {
  uint16_t words[kSplitPanelUnits][2][2][kSplitTileWords];  // [unit][part][group]
};
void unpack_split(const MatmulJob& job, uint32_t block, uint32_t unit, uint32_t n_units,
                  SplitPanel& panel);

// Adds n_units of a panel for kTiles (1 or 2) tiles of x to sums [2 groups][sums_stride][16].
// kParts: of the weights.
template <class Ops, int kTiles, int kParts>
void multiply_split(const uint16_t* x, size_t x_tile_stride, const SplitPanel& panel,
                    uint32_t n_units, bool first, float* sums, size_t group_stride) {
  constexpr size_t kRowBytes = kGroupRows * sizeof(float);
  float* const next = sums + kMatrixRows * kGroupRows;  // of the second tile
  if (first) {
    Ops::template zero<0>();
    Ops::template zero<1>();
    if constexpr (kTiles == 2) {
      Ops::template zero<2>();
      Ops::template zero<3>();
    }
  } else {
    Ops::template load<0>(sums, kRowBytes);
    Ops::template load<1>(sums + group_stride, kRowBytes);
    if constexpr (kTiles == 2) {
      Ops::template load<2>(next, kRowBytes);
      Ops::template load<3>(next + group_stride, kRowBytes);
    }
  }
  const auto load_x = [&](uint32_t unit, size_t part) {
    const uint16_t* at = x + (2 * size_t{unit} + part) * kSplitTileWords;
    Ops::template load<4>(at, 64);
    if constexpr (kTiles == 2) Ops::template load<5>(at + x_tile_stride, 64);
  };
  const auto load_weights = [&](uint32_t unit, size_t part) {
    Ops::template load<6>(panel.words[unit][part][0], 64);
    Ops::template load<7>(panel.words[unit][part][1], 64);
  };
  const auto multiply = [] {
    Ops::template multiply_bf16<0, 4, 6>();
    Ops::template multiply_bf16<1, 4, 7>();
    if constexpr (kTiles == 2) {
      Ops::template multiply_bf16<2, 5, 6>();
      Ops::template multiply_bf16<3, 5, 7>();
    }
  };
  for (uint32_t unit = 0; unit < n_units; ++unit) {
    load_weights(unit, 0);
    load_x(unit, 1);
    multiply();
    load_x(unit, 0);
    multiply();
    if constexpr (kParts == 2) {
      load_weights(unit, 1);
      multiply();
    }
  }
  Ops::template store<0>(sums, kRowBytes);
  Ops::template store<1>(sums + group_stride, kRowBytes);
  if constexpr (kTiles == 2) {
    Ops::template store<2>(next, kRowBytes);
    Ops::template store<3>(next + group_stride, kRowBytes);
  }
}

// Items of a job: a block of weights by tile_rows activation rows.
template <class Ops, int kParts>
void split_items(const MatmulJob& job, uint32_t begin, uint32_t end) {
  // Rows of whole tiles, and one more that the end of an item may read.
  constexpr size_t kGroupSums = (kSplitTileRows + kMatrixRows) * kGroupRows;
  alignas(64) float sums[2 * kGroupSums];
  SplitPanel panel;
  const uint32_t n_units = (job.cols + kUnitCols - 1) / kUnitCols;
  const size_t x_tile = 2 * size_t{n_units} * kSplitTileWords;
  const uint32_t n_groups = (job.rows + kGroupRows - 1) / kGroupRows;
  for (uint32_t item = begin; item < end; ++item) {
    const auto [block, first, n] = item_of(job, item);
    const uint32_t n_tiles = (n + kMatrixRows - 1) / kMatrixRows;
    for (uint32_t unit = 0; unit < n_units; unit += kSplitPanelUnits) {
      const uint32_t units = std::min(kSplitPanelUnits, n_units - unit);
      unpack_split(job, block, unit, units, panel);
      for (uint32_t t = 0; t < n_tiles; t += 2) {
        const uint16_t* x =
            job.x_split + (first / kMatrixRows + t) * x_tile + 2 * size_t{unit} * kSplitTileWords;
        float* to = sums + size_t{t} * kMatrixRows * kGroupRows;
        t + 1 < n_tiles
            ? multiply_split<Ops, 2, kParts>(x, x_tile, panel, units, unit == 0, to, kGroupSums)
            : multiply_split<Ops, 1, kParts>(x, x_tile, panel, units, unit == 0, to, kGroupSums);
      }
    }
    for (uint32_t i = 0; i < 2 && 2 * block + i < n_groups; ++i)
      finish_group(job, 2 * block + i, first, n, sums + i * kGroupSums);
  }
}

// The same with the tiles configured for the thread.
template <class Ops>
void split_items_of(const MatmulJob& job, uint32_t begin, uint32_t end) {
  static constexpr TileConfig kConfig = split_tile_config();
  Ops::configure(kConfig);
  job.type == quant::Type::kBf16 ? split_items<Ops, 1>(job, begin, end)
                                 : split_items<Ops, 2>(job, begin, end);
  Ops::release();
}

}  // namespace puna::kernels
