// The plain form of binary.h. One f32 operation an element, rounded once: other forms give the same
// bits, but a division on a GPU.
#pragma once

#include "kernels/elementwise/binary.h"

namespace puna::kernels {

inline float binary_ref(Binary op, float y, float x) {
  switch (op) {
    case Binary::kAdd:
      return y + x;
    case Binary::kSubtract:
      return y - x;
    case Binary::kMultiply:
      return y * x;
    case Binary::kDivide:
      return y / x;
    case Binary::kLeast:
      return y < x ? y : x;
    case Binary::kMost:
      return y > x ? y : x;
  }
  return 0;
}

inline void binary_ref(const BinaryCpuArgs& args) {
  const BinaryShape& s = args.shape;
  for (uint64_t t = 0; t < args.n_rows; ++t) {
    for (uint64_t i = 0; i < s.n; ++i) {
      const uint64_t at = s.spread == Spread::kElements ? (t * s.n_parts + s.part) * s.n + i
                          : s.spread == Spread::kRow    ? i
                          : s.spread == Spread::kColumn ? t
                                                        : 0;
      args.y[t * s.n + i] = binary_ref(s.op, args.y[t * s.n + i], args.x[at]);
    }
  }
}

}  // namespace puna::kernels
