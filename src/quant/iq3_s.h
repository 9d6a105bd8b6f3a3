// iq3_s: 256 elements in 8 groups of 32; 4 elements are an entry of a grid of 512, with signs:
// x = d * (1 + 2 * scale) * sign * grid.
// Source: block_iq3_s in ggml.
#pragma once

#include "quant/block.h"
#include "quant/unit.h"

namespace puna::quant {

struct BlockIQ3_S {
  static constexpr size_t kElements = 256;
  static constexpr uint8_t kMaxCode = 15;
  static constexpr uint16_t kHalves[] = {0};  // where f16 fields lie
  static TypePlanes planes();
  uint16_t d;         // f16
  uint8_t qs[64];     // low 8 bits of the entry of elements 4i .. 4i + 3
  uint8_t qh[8];      // bit i % 8 of byte i / 8: the ninth bit of entry i
  uint8_t signs[32];  // bit e % 8 of byte e / 8: element e is negative
  uint8_t scales[4];  // group b in nibble b
};
static_assert(sizeof(BlockIQ3_S) == 110);

void read_unit(const BlockIQ3_S& block, uint32_t u, UnitCodes& out);

}  // namespace puna::quant
