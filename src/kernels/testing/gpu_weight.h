// Puts a weight of file rows on the harness's device in planes, for tests.
#pragma once

#include <algorithm>

#include "kernels/common/weight.h"
#include "kernels/testing/gpu_harness.h"
#include "quant/planes.h"

namespace puna::kernels::test {

// In chunks of chunk_rows rows, a multiple of 4 (0: one chunk).
inline GpuWeight upload_weight(GpuHarness& gpu, quant::Type type, uint32_t rows, uint32_t cols,
                               std::span<const std::byte> file, uint32_t chunk_rows = 0) {
  GpuWeight weight{.type = type, .rows = rows, .cols = cols, .chunks = {}};
  if (chunk_rows == 0) chunk_rows = rows;
  const uint64_t row_bytes = quant::row_bytes(type, cols);
  for (uint32_t first = 0; first < rows; first += chunk_rows) {
    const uint32_t n = std::min(chunk_rows, rows - first);
    const quant::PlaneLayout layout = quant::plane_layout(type, n, cols);
    std::vector<std::byte> planes(layout.bytes);
    quant::pack(layout, file.subspan(first * row_bytes, n * row_bytes), planes);
    weight.chunks.push_back({gpu.upload(planes), first, n});
  }
  return weight;
}

}  // namespace puna::kernels::test
