// tq1_0: 256 elements, one scale, three values each: x = d * (t - 1). Bytes hold five digits of
// base 3: byte / 256 is the fraction 0.t0 t1 t2 t3 t4, rounded up. Source: block_tq1_0 in ggml.
#pragma once

#include "quant/block.h"
#include "quant/unit.h"

namespace puna::quant {

struct BlockTQ1_0 {
  static constexpr size_t kElements = 256;
  static constexpr uint8_t kMaxCode = 1;
  static constexpr uint16_t kHalves[] = {52};  // where f16 fields lie
  static TypePlanes planes();
  uint8_t qs[48];  // digit t of byte b < 32: element 32t + b; of byte 32 + b: element 160 + 16t + b
  uint8_t qh[4];   // digit t < 4 of byte b: element 240 + 4t + b
  uint16_t d;      // f16
};
static_assert(sizeof(BlockTQ1_0) == 54);

// A byte times the d-th of these, modulo 256, has digit d at the front.
inline constexpr uint8_t kPowersOf3[] = {1, 3, 9, 27, 81};

void read_unit(const BlockTQ1_0& block, uint32_t u, UnitCodes& out);
void encode(const float* in, BlockTQ1_0& block);

}  // namespace puna::quant
