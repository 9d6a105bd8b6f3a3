#include "quant/q4_1.h"

#include "quant/quant_test_util.h"

using namespace puna::quant;

TEST_CASE("a q4_1 block written by hand decodes to the values meant") {
  BlockQ4_1 block{};
  block.d = 0x3800;    // 0.5
  block.m = 0xc000;    // -2
  block.qs[0] = 0xf1;  // element 0: 1, element 16: 15
  float out[32];
  decode(block, out);
  CHECK(out[0] == -1.5f);
  CHECK(out[16] == 5.5f);
  CHECK(out[1] == -2.0f);
}

TEST_CASE("q4_1 decodes every element as described") {
  check_decode<BlockQ4_1>({0, 2}, [](const BlockQ4_1& b, int e) {
    return double{half(b.d)} * (e < 16 ? b.qs[e] % 16 : b.qs[e - 16] / 16) + double{half(b.m)};
  });
}

TEST_CASE("q4_1 encodes values on its grid without loss, whatever the sign of the minimum") {
  for (const float min : {-3.0f, 5.0f}) {
    float in[32];
    for (int i = 0; i < 32; ++i) in[i] = min + 0.25f * static_cast<float>(i % 16);
    BlockQ4_1 block;
    encode(in, block);
    float out[32];
    decode(block, out);
    for (int i = 0; i < 32; ++i) CHECK(out[i] == in[i]);
  }
}
