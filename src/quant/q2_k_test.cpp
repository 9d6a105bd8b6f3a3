#include "quant/q2_k.h"

#include "quant/quant_test_util.h"

using namespace puna::quant;

TEST_CASE("a q2_k block written by hand decodes to the values meant") {
  BlockQ2_K block{};
  block.d = 0x3c00;        // 1
  block.dmin = 0x3800;     // 0.5
  block.scales[0] = 0x21;  // group 0: scale 1, min 2
  block.scales[9] = 0x0f;  // group 9 (elements 144..159): scale 15, min 0
  block.qs[0] = 0x03;      // element 0: 3; elements 32, 64, 96: 0
  block.qs[48] = 0x02;     // element 128 + 16: 2
  float out[256];
  decode(block, out);
  CHECK(out[0] == 2.0f);
  CHECK(out[1] == -1.0f);
  CHECK(out[32] == 0.0f);
  CHECK(out[144] == 30.0f);
}

TEST_CASE("q2_k decodes every element as described") {
  check_decode<BlockQ2_K>({80, 82}, [](const BlockQ2_K& b, int e) {
    const int q = b.qs[32 * (e / 128) + e % 32] >> 2 * (e / 32 % 4) & 3;
    return double{half(b.d)} * (b.scales[e / 16] % 16) * q -
           double{half(b.dmin)} * (b.scales[e / 16] / 16);
  });
}
