// The unquantized types: f32, f16, bf16. A block is one element.
#pragma once

#include "quant/block.h"

namespace puna::quant {

struct BlockF32 {
  static constexpr size_t kElements = 1;
  static TypePlanes planes();
  float value;
};
struct BlockF16 {
  static constexpr size_t kElements = 1;
  static constexpr uint16_t kHalves[] = {0};  // where f16 fields lie
  static TypePlanes planes();
  uint16_t bits;
};
struct BlockBf16 {
  static constexpr size_t kElements = 1;
  static TypePlanes planes();
  uint16_t bits;
};

inline void decode(const BlockF32& block, float* out) { *out = block.value; }
inline void decode(const BlockF16& block, float* out) { *out = base::f16_to_f32(block.bits); }
inline void decode(const BlockBf16& block, float* out) { *out = base::bf16_to_f32(block.bits); }

inline void encode(const float* in, BlockF32& block) { block.value = *in; }
inline void encode(const float* in, BlockF16& block) { block.bits = base::f32_to_f16(*in); }
inline void encode(const float* in, BlockBf16& block) { block.bits = base::f32_to_bf16(*in); }

// For random blocks: all there is.
inline void set_scale(float x, BlockF32& block) { encode(&x, block); }
inline void set_scale(float x, BlockBf16& block) { encode(&x, block); }

}  // namespace puna::quant
