#include "quant/iq4_xs.h"

#include "quant/iq4_nl.h"
#include "quant/quant_test_util.h"

using namespace puna::quant;

TEST_CASE("iq4_xs decodes every element as described") {
  check_decode<BlockIQ4_XS>({0}, [](const BlockIQ4_XS& b, int e) {
    const int group = e / 32;
    const int low = b.scales_l[group / 2] >> 4 * (group % 2) & 15;
    const int scale = low + 16 * (b.scales_h >> 2 * group & 3) - 32;
    const int byte = b.qs[16 * group + e % 16];
    const int q = e % 32 < 16 ? byte & 15 : byte >> 4;
    // Multiplied by the scale first, so that a zero has the same sign.
    return half(b.d) * static_cast<float>(scale) * static_cast<float>(kIq4Values[q]);
  });
}
