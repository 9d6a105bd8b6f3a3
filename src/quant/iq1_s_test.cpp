#include "quant/iq1_s.h"

#include "quant/grids.h"
#include "quant/quant_test_util.h"

using namespace puna::quant;

TEST_CASE("iq1_s decodes every element as described") {
  check_decode<BlockIQ1_S>({0}, [](const BlockIQ1_S& b, int e) {
    const int word = b.qh[e / 32];
    const int entry = b.qs[e / 8] + 256 * (word >> 3 * (e / 8 % 4) & 7);
    const int value =
        static_cast<int>(kIq1Grid[static_cast<size_t>(entry)] >> 8 * (e % 8) & 255) - 1;
    const double scale = double{half(b.d)} * (2 * (word >> 12 & 7) + 1);
    return scale * (value + (word >> 15 == 1 ? -0.125 : 0.125));
  });
}
