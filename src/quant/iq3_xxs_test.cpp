#include "quant/iq3_xxs.h"

#include "quant/grids.h"
#include "quant/quant_test_util.h"

using namespace puna::quant;

TEST_CASE("iq3_xxs decodes every element as described") {
  check_decode<BlockIQ3_XXS>({0}, [](const BlockIQ3_XXS& b, int e) {
    uint32_t word;
    std::memcpy(&word, b.signs + 4 * (e / 32), 4);
    const int seven = static_cast<int>(word >> 7 * (e / 8 % 4) & 127);
    const bool eighth = std::popcount(static_cast<unsigned>(seven)) % 2 == 1;
    const bool negative = e % 8 == 7 ? eighth : (seven >> e % 8 & 1) == 1;
    const int value = kIq3XxsGrid[b.qs[e / 4]] >> 8 * (e % 4) & 255;
    return double{half(b.d)} * (word >> 28 | 0u) * 0.5 * (negative ? -value : value) +
           double{half(b.d)} * 0.25 * (negative ? -value : value);
  });
}
