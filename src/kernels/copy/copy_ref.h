// The plain form of copy.h: one element after the other.
#pragma once

#include <array>
#include <cstdint>

#include "base/half.h"
#include "kernels/copy/copy.h"

namespace puna::kernels {

// Moves the element x[from] to y[to].
inline void copy_element(const CopyCpuArgs& args, uint64_t from, uint64_t to) {
  const bool x_half = args.shape.x_type == Element::kHalf;
  const bool y_half = args.shape.y_type == Element::kHalf;
  const auto* words = static_cast<const uint32_t*>(args.x);
  const auto* halves = static_cast<const uint16_t*>(args.x);
  if (x_half == y_half) {
    if (x_half) {
      static_cast<uint16_t*>(args.y)[to] = halves[from];
    } else {
      static_cast<uint32_t*>(args.y)[to] = words[from];
    }
  } else if (y_half) {
    static_cast<uint16_t*>(args.y)[to] = base::f32_to_f16(std::bit_cast<float>(words[from]));
  } else {
    static_cast<float*>(args.y)[to] = base::f16_to_f32(halves[from]);
  }
}

inline void copy_ref(const CopyCpuArgs& args) {
  const CopyShape& s = args.shape;
  for (uint64_t i = 0; i < s.elements(); ++i) {
    uint64_t rest = i, from = s.x_offset, to = s.y_offset;
    for (size_t d = s.sizes.size(); d-- > 0; rest /= s.sizes[d]) {
      from += rest % s.sizes[d] * s.x_strides[d];
      to += rest % s.sizes[d] * s.y_strides[d];
    }
    copy_element(args, from, to);
  }
}

}  // namespace puna::kernels
