#include "quant/tq1_0.h"

#include "quant/quant_test_util.h"

using namespace puna::quant;

TEST_CASE("tq1_0 decodes every element as described") {
  check_decode<BlockTQ1_0>({52}, [](const BlockTQ1_0& b, int e) {
    const int byte = e < 160 ? b.qs[e % 32] : e < 240 ? b.qs[32 + (e - 160) % 16] : b.qh[e % 4];
    const int digit = e < 160 ? e / 32 : e < 240 ? (e - 160) / 16 : (e - 240) / 4;
    const int powers[] = {1, 3, 9, 27, 81};
    return half(b.d) * static_cast<float>((byte * powers[digit] % 256 * 3) / 256 - 1);
  });
}

TEST_CASE("tq1_0 keeps ternary values as they are") {
  float in[256];
  for (int i = 0; i < 256; ++i) in[i] = 0.75f * static_cast<float>(i * 7 % 11 % 3 - 1);
  BlockTQ1_0 block;
  encode(in, block);
  float out[256];
  decode_by_units(block, out);
  for (int i = 0; i < 256; ++i) CHECK(out[i] == in[i]);
}
