// A weight matrix as kernels see it, on the GPU (planes, docs/weight-layout.md) and on the CPU
// (rows interleaved for the variant).
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/common/call.h"
#include "quant/quant.h"

namespace puna::kernels {

// [rows, cols] in the plane layout of quant/planes.h. A matrix above the device's binding limit is
// several chunks of whole 4-row groups; each chunk is complete in itself.
struct GpuWeight {
  struct Chunk {
    Slice slice;
    uint32_t first_row = 0;
    uint32_t n_rows = 0;
  };
  quant::Type type = quant::Type::kF32;
  uint32_t rows = 0;
  uint32_t cols = 0;
  std::vector<Chunk> chunks;
};

}  // namespace puna::kernels
