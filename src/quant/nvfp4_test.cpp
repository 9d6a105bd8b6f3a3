#include "quant/nvfp4.h"

#include "quant/quant_test_util.h"

using namespace puna::quant;

TEST_CASE("nvfp4 decodes every element as described") {
  check_decode<BlockNVFP4>({}, [](const BlockNVFP4& b, int e) {
    const int group = e / 16;
    const int byte = b.qs[8 * group + e % 8];
    const int q = e % 16 < 8 ? byte & 15 : byte >> 4;
    const double sizes[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
    const int exponent = b.d[group] >> 3 & 15;
    const int mantissa = b.d[group] & 7;
    double scale =
        exponent == 0 ? std::ldexp(mantissa, -9) : std::ldexp(1 + mantissa / 8.0, exponent - 7);
    if (b.d[group] == 0x7f) scale = 0;
    return scale * (q % 8 == 0 ? 0.0 : q < 8 ? sizes[q] : -sizes[q - 8]);
  });
}
