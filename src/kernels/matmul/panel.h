// Units of 16 weight rows unpacked once for many activation rows: what the products of many rows
// read, whatever the type. Filled by matmul_panel_cpu.cpp.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "kernels/matmul/job.h"

namespace puna::kernels {

constexpr uint32_t kPanelUnits = 16;

// weight = a * code + b
struct Panel {
  alignas(64) uint8_t codes[kPanelUnits * 512];       // [unit][8][16 rows][4 columns]
  alignas(64) float a[kPanelUnits * 2 * kGroupRows];  // [unit][halves][16 rows]
  alignas(64) float b[kPanelUnits * 2 * kGroupRows];
};

// How a type lies in a panel. Types that are read unit by unit are bytes with two scales a unit.
struct PanelFormat {
  uint32_t max_code;  // of classes 15, 31, 63 and 255: what matters to sums in 16 bits
  uint32_t halves;
};
constexpr PanelFormat panel_format(quant::Type type) {
  if (keeps_file_rows(type)) return {255, 2};
  const PackedFormat format = packed_format(type);
  for (const uint32_t largest : {15u, 31u, 63u}) {
    if (format.max_code <= largest) return {largest, format.halves};
  }
  return {255, format.halves};
}

// Units [first_unit, first_unit + n_units) of a weight group, at most kPanelUnits.
void fill_panel(const MatmulJob& job, uint32_t group, uint32_t first_unit, uint32_t n_units,
                Panel& panel);

}  // namespace puna::kernels
