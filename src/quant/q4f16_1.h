// q4f16_1 and q4f32_1: 32 elements, one scale, 4 bits each: x = scale * (q - 7). MLC keeps codes
// and scales in tensors of their own (q_weight u32 [rows, columns / 8], q_scale [rows, columns /
// 32]); a block here is a group of 32 with its scale in front. MLC computes the product in the type
// of the scale; here it is f32. Source: group quantization of MLC LLM.
#pragma once

#include "quant/block.h"
#include "quant/unit.h"

namespace puna::quant {

struct BlockQ4F16_1 {
  static constexpr size_t kElements = 32;
  static constexpr uint8_t kMaxCode = 8;
  static constexpr uint16_t kHalves[] = {0};  // where f16 fields lie
  static TypePlanes planes();
  uint16_t d;      // f16
  uint8_t qs[16];  // byte j: element 2j in the low nibble, 2j + 1 in the high
};
static_assert(sizeof(BlockQ4F16_1) == 18);

struct BlockQ4F32_1 {
  static constexpr size_t kElements = 32;
  static constexpr uint8_t kMaxCode = 8;
  static TypePlanes planes();
  float d;
  uint8_t qs[16];
};
static_assert(sizeof(BlockQ4F32_1) == 20);

void read_unit(const BlockQ4F16_1& block, uint32_t u, UnitCodes& out);
void read_unit(const BlockQ4F32_1& block, uint32_t u, UnitCodes& out);

// The same values as q4_0, whose codes run the other way: s * (q - 7) = -s * ((15 - q) - 8). `n`
// elements, whole blocks.
void q4_0_of_q4f16_1(const std::byte* in, std::byte* out, size_t n);

// For random blocks: the scale, about x.
void set_scale(float x, BlockQ4F32_1& block);

}  // namespace puna::quant
