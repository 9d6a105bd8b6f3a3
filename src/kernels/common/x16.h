// x16: rows as f16, as products in tiles of matrix units read them. A row whose largest magnitude
// f16 cannot hold is divided by a power of two first, which the product gives back.
//   [rows][columns] f16, of each row zeros up to a whole unit of 32 columns, then [rows] vec4<u32>
//   whose x is the exponent of that power
#pragma once

#include "kernels/common/call.h"

namespace puna::kernels {

struct X16 {
  Slice place;
  uint32_t rows = 0;  // that there is room for
};

}  // namespace puna::kernels
