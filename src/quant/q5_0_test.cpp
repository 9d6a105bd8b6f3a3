#include "quant/q5_0.h"

#include "quant/quant_test_util.h"

using namespace puna::quant;

TEST_CASE("a q5_0 block written by hand decodes to the values meant") {
  BlockQ5_0 block{};
  block.d = 0x4000;    // 2
  block.qs[0] = 0x21;  // low bits of element 0: 1, of element 16: 2
  block.qh[0] = 0x01;  // element 0: 17
  block.qh[2] = 0x00;  // element 16: 2
  block.qs[15] = 0xf0;
  block.qh[3] = 0x80;  // element 31: 31
  float out[32];
  decode(block, out);
  CHECK(out[0] == 2.0f);
  CHECK(out[16] == -28.0f);
  CHECK(out[31] == 30.0f);
  CHECK(out[15] == -32.0f);
}

TEST_CASE("q5_0 decodes every element as described") {
  check_decode<BlockQ5_0>({0}, [](const BlockQ5_0& b, int e) {
    const int low = e < 16 ? b.qs[e] % 16 : b.qs[e - 16] / 16;
    return double{half(b.d)} * (low + 16 * (b.qh[e / 8] >> e % 8 & 1) - 16);
  });
}

TEST_CASE("q5_0 encodes values on its grid without loss") {
  float in[32];
  for (int i = 0; i < 32; ++i) in[i] = 0.125f * static_cast<float>(i - 16);
  BlockQ5_0 block;
  encode(in, block);
  float out[32];
  decode(block, out);
  for (int i = 0; i < 32; ++i) CHECK(out[i] == in[i]);
}
