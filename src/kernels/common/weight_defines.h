// How templates learn about a weight: the defines that quant/planes.wgsl reads.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/result.h"
#include "quant/quant.h"

namespace puna::kernels {

// "WEIGHT_Q4_K"
std::string weight_define(quant::Type type);
// WEIGHT_<TYPE>, ROWS, COLS, UNITS and the start of each plane as PLANE_<NAME>, in vec4, of a
// complete chunk.
std::map<std::string, std::string> weight_defines(quant::Type type, uint32_t rows, uint32_t cols);

// Errors: kInvalidArgument when a side is 0, the columns are no whole number of blocks or a plane
// index leaves 32 bits.
base::Result<void> check_weight_shape(std::string_view label, quant::Type type, uint32_t rows,
                                      uint32_t cols);

}  // namespace puna::kernels
