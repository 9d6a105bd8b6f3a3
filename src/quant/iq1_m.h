// iq1_m: 256 elements in 16 groups of 16; 8 elements are an entry of the grid of iq1_s, moved by an
// eighth up or down: x = d * (2 * scale + 1) * (grid +- 1/8).
// Source: block_iq1_m in ggml.
#pragma once

#include "quant/block.h"
#include "quant/unit.h"

namespace puna::quant {

struct BlockIQ1_M {
  static constexpr size_t kElements = 256;
  static constexpr uint8_t kMaxCode = 9;
  static TypePlanes planes();
  uint8_t qs[32];      // low 8 bits of the entry of elements 8i .. 8i + 7
  uint8_t qh[16];      // nibble i: top three bits of entry i, bit 3: down
  uint16_t scales[4];  // group j at bits 3 (j % 4) of word j / 4; bits 12 .. 15 of word i are bits
                       // 4i of d, an f16
};
static_assert(sizeof(BlockIQ1_M) == 56);

void read_unit(const BlockIQ1_M& block, uint32_t u, UnitCodes& out);

// For random blocks: the scale, about x.
void set_scale(float x, BlockIQ1_M& block);

}  // namespace puna::quant
