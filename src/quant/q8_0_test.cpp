#include "quant/q8_0.h"

#include "quant/quant_test_util.h"

using namespace puna::quant;

TEST_CASE("a q8_0 block written by hand decodes to the values meant") {
  BlockQ8_0 block{};
  block.d = 0x3400;  // 0.25
  block.qs[0] = -128;
  block.qs[31] = 127;
  float out[32];
  decode(block, out);
  CHECK(out[0] == -32.0f);
  CHECK(out[31] == 31.75f);
  CHECK(out[1] == 0.0f);
}

TEST_CASE("q8_0 decodes every element as described") {
  check_decode<BlockQ8_0>({0},
                          [](const BlockQ8_0& b, int e) { return double{half(b.d)} * b.qs[e]; });
}

TEST_CASE("q8_0 encodes within half a step of the largest element") {
  float in[32];
  for (int i = 0; i < 32; ++i) in[i] = std::sin(static_cast<float>(i)) * 3.0f;
  BlockQ8_0 block;
  encode(in, block);
  float out[32];
  decode(block, out);
  for (int i = 0; i < 32; ++i) CHECK(std::fabs(out[i] - in[i]) <= 0.505f * half(block.d));
}
