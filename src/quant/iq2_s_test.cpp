#include "quant/iq2_s.h"

#include "quant/grids.h"
#include "quant/quant_test_util.h"

using namespace puna::quant;

TEST_CASE("iq2_s decodes every element as described") {
  check_decode<BlockIQ2_S>({0}, [](const BlockIQ2_S& b, int e) {
    const int entry = b.qs[e / 8] + 256 * (b.qh[e / 32] >> 2 * (e / 8 % 4) & 3);
    const int value = static_cast<int>(kIq2SGrid[static_cast<size_t>(entry)] >> 8 * (e % 8)) & 255;
    const int scale = b.scales[e / 32] >> 4 * (e / 16 % 2) & 15;
    const bool negative = (b.signs[e / 8] >> e % 8 & 1) == 1;
    return double{half(b.d)} * (2 * scale + 1) / 8 * (negative ? -value : value);
  });
}
