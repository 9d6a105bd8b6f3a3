// q1_0: 128 elements, one scale, 1 bit each: x = d where it is set, else -d.
// Source: block_q1_0 in ggml.
#pragma once

#include "quant/block.h"
#include "quant/unit.h"

namespace puna::quant {

struct BlockQ1_0 {
  static constexpr size_t kElements = 128;
  static constexpr uint8_t kMaxCode = 1;
  static constexpr uint16_t kHalves[] = {0};  // where f16 fields lie
  static TypePlanes planes();
  uint16_t d;      // f16
  uint8_t qs[16];  // bit e % 8 of byte e / 8: element e
};
static_assert(sizeof(BlockQ1_0) == 18);

void read_unit(const BlockQ1_0& block, uint32_t u, UnitCodes& out);

}  // namespace puna::quant
