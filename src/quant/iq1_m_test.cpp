#include "quant/iq1_m.h"

#include "quant/grids.h"
#include "quant/quant_test_util.h"

using namespace puna::quant;

TEST_CASE("iq1_m decodes every element as described") {
  std::mt19937 random(7);
  for (int i = 0; i < 200; ++i) {
    BlockIQ1_M b = random_block<BlockIQ1_M>(random, {});
    b.scales[3] &= 0xbfff;  // the scale is finite
    const int d = b.scales[0] >> 12 | b.scales[1] >> 12 << 4 | b.scales[2] >> 12 << 8 |
                  b.scales[3] >> 12 << 12;
    float out[256];
    decode_by_units(b, out);
    for (int e = 0; e < 256; ++e) {
      const int top = b.qh[e / 16] >> 4 * (e / 8 % 2) & 15;
      const size_t entry = size_t{b.qs[e / 8]} + 256 * static_cast<size_t>(top & 7);
      const int value = static_cast<int>(kIq1Grid[entry] >> 8 * (e % 8) & 255) - 1;
      const int scale = b.scales[e / 64] >> 3 * (e / 16 % 4) & 7;
      REQUIRE(out[e] == half(static_cast<uint16_t>(d)) * static_cast<float>(2 * scale + 1) *
                            (static_cast<float>(value) + (top >= 8 ? -0.125f : 0.125f)));
    }
  }
}
