#include "quant/iq3_s.h"

#include "quant/grids.h"
#include "quant/quant_test_util.h"

using namespace puna::quant;

TEST_CASE("iq3_s decodes every element as described") {
  check_decode<BlockIQ3_S>({0}, [](const BlockIQ3_S& b, int e) {
    const int entry = b.qs[e / 4] + 256 * (b.qh[e / 32] >> e / 4 % 8 & 1);
    const int value = kIq3SGrid[static_cast<size_t>(entry)] >> 8 * (e % 4) & 255;
    const int scale = b.scales[e / 64] >> 4 * (e / 32 % 2) & 15;
    const bool negative = (b.signs[e / 8] >> e % 8 & 1) == 1;
    return double{half(b.d)} * (1 + 2 * scale) * (negative ? -value : value);
  });
}
