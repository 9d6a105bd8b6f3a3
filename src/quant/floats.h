// The unquantized types: f32, f16, bf16. A block is one element.
#pragma once

#include "quant/block.h"

namespace puna::quant {

struct BlockF32 {
  static constexpr size_t kElements = 1;
  float value;
};
struct BlockF16 {
  static constexpr size_t kElements = 1;
  uint16_t bits;
};
struct BlockBf16 {
  static constexpr size_t kElements = 1;
  uint16_t bits;
};

inline void decode(const BlockF32& block, float* out) { *out = block.value; }
inline void decode(const BlockF16& block, float* out) { *out = base::f16_to_f32(block.bits); }
inline void decode(const BlockBf16& block, float* out) { *out = base::bf16_to_f32(block.bits); }

inline void encode(const float* in, BlockF32& block) { block.value = *in; }
inline void encode(const float* in, BlockF16& block) { block.bits = base::f32_to_f16(*in); }
inline void encode(const float* in, BlockBf16& block) { block.bits = base::f32_to_bf16(*in); }

}  // namespace puna::quant
