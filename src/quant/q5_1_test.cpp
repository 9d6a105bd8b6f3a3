#include "quant/q5_1.h"

#include "quant/quant_test_util.h"

using namespace puna::quant;

TEST_CASE("a q5_1 block written by hand decodes to the values meant") {
  BlockQ5_1 block{};
  block.d = 0x3c00;    // 1
  block.m = 0x4900;    // 10
  block.qs[3] = 0xf5;  // low bits of element 3: 5, of element 19: 15
  block.qh[2] = 0x08;  // element 19: 31
  float out[32];
  decode(block, out);
  CHECK(out[3] == 15.0f);
  CHECK(out[19] == 41.0f);
  CHECK(out[0] == 10.0f);
}

TEST_CASE("q5_1 decodes every element as described") {
  check_decode<BlockQ5_1>({0, 2}, [](const BlockQ5_1& b, int e) {
    const int low = e < 16 ? b.qs[e] % 16 : b.qs[e - 16] / 16;
    return double{half(b.d)} * (low + 16 * (b.qh[e / 8] >> e % 8 & 1)) + double{half(b.m)};
  });
}

TEST_CASE("q5_1 encodes values on its grid without loss") {
  float in[32];
  for (int i = 0; i < 32; ++i) in[i] = 1.0f + 0.125f * static_cast<float>(i);
  BlockQ5_1 block;
  encode(in, block);
  float out[32];
  decode(block, out);
  for (int i = 0; i < 32; ++i) CHECK(out[i] == in[i]);
}
