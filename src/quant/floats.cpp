#include "quant/floats.h"

#include "quant/planes_builder.h"

namespace puna::quant {

TypePlanes BlockF32::planes() { return float_planes(32); }

TypePlanes BlockF16::planes() { return float_planes(16); }

TypePlanes BlockBf16::planes() { return float_planes(16); }

}  // namespace puna::quant
