#include "quant/iq2_xs.h"

#include "quant/grids.h"
#include "quant/quant_test_util.h"

using namespace puna::quant;

TEST_CASE("iq2_xs decodes every element as described") {
  check_decode<BlockIQ2_XS>({0}, [](const BlockIQ2_XS& b, int e) {
    const uint32_t word = b.qs[e / 8];
    const int seven = static_cast<int>(word >> 9);
    const bool eighth = std::popcount(word >> 9) % 2 == 1;
    const bool negative = e % 8 == 7 ? eighth : (seven >> e % 8 & 1) == 1;
    const int value = static_cast<int>(kIq2XsGrid[word & 511] >> 8 * (e % 8)) & 255;
    const int scale = b.scales[e / 32] >> 4 * (e / 16 % 2) & 15;
    return double{half(b.d)} * (2 * scale + 1) / 8 * (negative ? -value : value);
  });
}
