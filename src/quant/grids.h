// The grids of the codebook types (iq1, iq2, iq3): fixed lists of vectors of 8 or 4 small values,
// which a block names by index. They were found by clustering weights, so no formula gives them.
// Source: the tables iq2xxs_grid .. iq1s_grid of ggml, also in the gguf package for Python.
#pragma once

#include <array>
#include <cstdint>

namespace puna::quant {

// An entry holds its values as bytes, that of element 0 lowest.
extern const std::array<uint64_t, 256> kIq2XxsGrid;  // 8, 25 or 43
extern const std::array<uint64_t, 512> kIq2XsGrid;   // the same
extern const std::array<uint64_t, 1024> kIq2SGrid;   // the same
extern const std::array<uint32_t, 256> kIq3XxsGrid;  // 4, 12, 20 .. 52 or 62
extern const std::array<uint32_t, 512> kIq3SGrid;    // 1, 3 .. 15
extern const std::array<uint64_t, 2048> kIq1Grid;    // 0, 1 or 2, which mean -1, 0 and 1

}  // namespace puna::quant
