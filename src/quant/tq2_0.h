// tq2_0: 256 elements, one scale, 2 bits each: x = d * (q - 1).
// Source: block_tq2_0 in ggml.
#pragma once

#include "quant/block.h"
#include "quant/unit.h"

namespace puna::quant {

struct BlockTQ2_0 {
  static constexpr size_t kElements = 256;
  static constexpr uint8_t kMaxCode = 2;
  static constexpr uint16_t kHalves[] = {64};  // where f16 fields lie
  static TypePlanes planes();
  uint8_t qs[64];  // bits 2s of byte 32n + l: element 128n + 32s + l
  uint16_t d;      // f16
};
static_assert(sizeof(BlockTQ2_0) == 66);

// Rounds to -1, 0 and 1 (stored as 0, 1 and 2) times the largest size among 256 elements: what was
// trained to three values comes out without loss.
struct Ternary {
  uint16_t d = 0;  // f16
  uint8_t t[256] = {};
};
Ternary to_ternary(const float* in);

void read_unit(const BlockTQ2_0& block, uint32_t u, UnitCodes& out);
void encode(const float* in, BlockTQ2_0& block);

}  // namespace puna::quant
