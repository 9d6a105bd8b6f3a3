// What the kernels that turn q and k say about it: rope.wgsl, and attention that appends.
#pragma once

#include "kernels/common/describe.h"
#include "kernels/rope/rope.h"

namespace puna::kernels {

void define_rope(Describe& call, const RopeParams& rope);

}  // namespace puna::kernels
