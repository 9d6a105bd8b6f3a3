// iq2_s: 256 elements in 16 groups of 16; 8 elements are an entry of a grid of 1024, with signs:
// x = d * (scale + 1/2) / 4 * sign * grid.
// Source: block_iq2_s in ggml.
#pragma once

#include "quant/block.h"
#include "quant/unit.h"

namespace puna::quant {

struct BlockIQ2_S {
  static constexpr size_t kElements = 256;
  static constexpr uint8_t kMaxCode = 43;
  static constexpr uint16_t kHalves[] = {0};  // where f16 fields lie
  static TypePlanes planes();
  uint16_t d;         // f16
  uint8_t qs[32];     // low 8 bits of the entry of elements 8i .. 8i + 7
  uint8_t signs[32];  // bit e % 8 of byte e / 8: element e is negative
  uint8_t qh[8];      // bits 2 (i % 4) of byte i / 4: the top two bits of entry i
  uint8_t scales[8];  // group j in nibble j
};
static_assert(sizeof(BlockIQ2_S) == 82);

void read_unit(const BlockIQ2_S& block, uint32_t u, UnitCodes& out);

}  // namespace puna::quant
