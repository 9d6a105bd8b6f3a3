// nvfp4: 64 elements in 4 groups of 16, an 8-bit float scale each (e4m3, no sign), 4 bits each
// (e2m1): x = nvfp4_scale(d) * kFp4Values[q]. A file may scale the whole tensor besides, in a
// tensor of its own. Source: block_nvfp4 in ggml.
#pragma once

#include "quant/block.h"
#include "quant/unit.h"

namespace puna::quant {

struct BlockNVFP4 {
  static constexpr size_t kElements = 64;
  static constexpr uint8_t kMaxCode = 12;
  static TypePlanes planes();
  uint8_t d[4];    // ue4m3 by group: the top bit is ignored, 127 is 0
  uint8_t qs[32];  // byte 8s + j: element 16s + j in the low nibble, 16s + 8 + j in the high
};
static_assert(sizeof(BlockNVFP4) == 36);

// Half the value of a byte of d.
float nvfp4_scale(uint32_t bits);
void read_unit(const BlockNVFP4& block, uint32_t u, UnitCodes& out);

// For random blocks: the scale, about x.
void set_scale(float x, BlockNVFP4& block);

}  // namespace puna::quant
