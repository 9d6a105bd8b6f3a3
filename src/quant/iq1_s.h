// iq1_s: 256 elements in 8 groups of 32; 8 elements are an entry of a grid of 2048, all moved by an
// eighth up or down: x = d * (2 * scale + 1) * (grid +- 1/8).
// Source: block_iq1_s in ggml.
#pragma once

#include "quant/block.h"
#include "quant/unit.h"

namespace puna::quant {

struct BlockIQ1_S {
  static constexpr size_t kElements = 256;
  static constexpr uint8_t kMaxCode = 9;
  static constexpr uint16_t kHalves[] = {0};  // where f16 fields lie
  static TypePlanes planes();
  uint16_t d;      // f16
  uint8_t qs[32];  // low 8 bits of the entry of elements 8i .. 8i + 7
  uint16_t qh[8];  // by group: top three bits of entry l at 3l, scale at 12, bit 15: down
};
static_assert(sizeof(BlockIQ1_S) == 50);

// Eight codes that count eighths: 8 * grid + 1, or - 1 where the entry is moved down.
void put_eighths(uint32_t entry, bool down, int8_t* code);
void read_unit(const BlockIQ1_S& block, uint32_t u, UnitCodes& out);

}  // namespace puna::quant
