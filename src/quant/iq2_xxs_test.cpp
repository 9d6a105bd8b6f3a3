#include "quant/iq2_xxs.h"

#include "quant/grids.h"
#include "quant/quant_test_util.h"

using namespace puna::quant;

TEST_CASE("iq2_xxs decodes every element as described") {
  check_decode<BlockIQ2_XXS>({0}, [](const BlockIQ2_XXS& b, int e) {
    uint32_t word;
    std::memcpy(&word, b.qs + 8 * (e / 32) + 4, 4);
    const int seven = static_cast<int>(word >> 7 * (e / 8 % 4) & 127);
    const bool eighth = std::popcount(static_cast<unsigned>(seven)) % 2 == 1;
    const bool negative = e % 8 == 7 ? eighth : (seven >> e % 8 & 1) == 1;
    const int value =
        static_cast<int>(kIq2XxsGrid[b.qs[8 * (e / 32) + e / 8 % 4]] >> 8 * (e % 8)) & 255;
    return double{half(b.d)} * (2 * (word >> 28) + 1) / 8 * (negative ? -value : value);
  });
}
