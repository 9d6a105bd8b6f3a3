#include "quant/q3_k.h"

#include "quant/quant_test_util.h"

using namespace puna::quant;

TEST_CASE("a q3_k block written by hand decodes to the values meant") {
  BlockQ3_K block{};
  block.d = 0x3c00;        // 1
  block.scales[0] = 0x51;  // group 0: low bits 1; group 8: low bits 5
  block.scales[8] = 0x22;  // top bits of groups 0, 4, 8, 12: 2, 0, 2, 0
  block.qs[0] = 0x03;      // element 0: low bits 3
  block.hmask[0] = 0x11;   // element 0 and element 128 have the third bit
  float out[256];
  decode(block, out);
  CHECK(out[0] == 3.0f);  // (1 + 32 - 32) * (3 + 4 - 4)
  CHECK(out[1] == -4.0f);
  CHECK(out[128] == 0.0f);  // (5 + 32 - 32) * (0 + 4 - 4)
  CHECK(out[129] == -20.0f);
  CHECK(out[16] == 128.0f);  // (0 - 32) * (0 - 4)
}

TEST_CASE("q3_k decodes every element as described") {
  check_decode<BlockQ3_K>({108}, [](const BlockQ3_K& b, int e) {
    const int j = e / 16;
    const int scale =
        (b.scales[j & 7] >> 4 * (j >> 3) & 15) + 16 * (b.scales[8 + (j & 3)] >> 2 * (j >> 2) & 3);
    const int low = b.qs[32 * (e / 128) + e % 32] >> 2 * (e / 32 % 4) & 3;
    const int high = b.hmask[e % 32] >> (e / 32) & 1;
    return double{half(b.d)} * (scale - 32) * (low + 4 * high - 4);
  });
}
