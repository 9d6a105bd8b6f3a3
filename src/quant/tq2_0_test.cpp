#include "quant/tq2_0.h"

#include "quant/quant_test_util.h"

using namespace puna::quant;

TEST_CASE("tq2_0 decodes every element as described") {
  check_decode<BlockTQ2_0>({64}, [](const BlockTQ2_0& b, int e) {
    const int q = b.qs[32 * (e / 128) + e % 32] >> 2 * (e / 32 % 4) & 3;
    return half(b.d) * static_cast<float>(q - 1);
  });
}

TEST_CASE("tq2_0 keeps ternary values as they are") {
  float in[256];
  for (int i = 0; i < 256; ++i) in[i] = 0.75f * static_cast<float>(i * 7 % 11 % 3 - 1);
  BlockTQ2_0 block;
  encode(in, block);
  float out[256];
  decode_by_units(block, out);
  for (int i = 0; i < 256; ++i) CHECK(out[i] == in[i]);
}
