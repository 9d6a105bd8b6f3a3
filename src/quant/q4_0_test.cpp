#include "quant/q4_0.h"

#include "quant/quant_test_util.h"

using namespace puna::quant;

TEST_CASE("a q4_0 block written by hand decodes to the values meant") {
  BlockQ4_0 block{};
  block.d = 0x3800;     // 0.5
  block.qs[0] = 0xf0;   // element 0: 0, element 16: 15
  block.qs[15] = 0x89;  // element 15: 9, element 31: 8
  float out[32];
  decode(block, out);
  CHECK(out[0] == -4.0f);
  CHECK(out[16] == 3.5f);
  CHECK(out[15] == 0.5f);
  CHECK(out[31] == 0.0f);
  CHECK(out[1] == -4.0f);
}

TEST_CASE("q4_0 decodes every element as described") {
  check_decode<BlockQ4_0>({0}, [](const BlockQ4_0& b, int e) {
    return double{half(b.d)} * ((e < 16 ? b.qs[e] % 16 : b.qs[e - 16] / 16) - 8);
  });
}

TEST_CASE("q4_0 encodes values on its grid without loss") {
  float in[32];
  for (int i = 0; i < 32; ++i) in[i] = 0.25f * static_cast<float>(i % 16 - 8);
  BlockQ4_0 block;
  encode(in, block);
  float out[32];
  decode(block, out);
  for (int i = 0; i < 32; ++i) CHECK(out[i] == in[i]);
}
