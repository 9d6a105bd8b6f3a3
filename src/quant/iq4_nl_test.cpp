#include "quant/iq4_nl.h"

#include "quant/quant_test_util.h"

using namespace puna::quant;

TEST_CASE("iq4_nl decodes every element as described") {
  check_decode<BlockIQ4_NL>({0}, [](const BlockIQ4_NL& b, int e) {
    const int q = e < 16 ? b.qs[e] & 15 : b.qs[e - 16] >> 4;
    return double{half(b.d)} * kIq4Values[q];
  });
}

TEST_CASE("iq4_nl encodes values on its grid without loss") {
  float in[32];
  for (int i = 0; i < 32; ++i) in[i] = 0.25f * static_cast<float>(kIq4Values[i % 16]);
  BlockIQ4_NL block;
  encode(in, block);
  float out[32];
  decode_by_units(block, out);
  for (int i = 0; i < 32; ++i) CHECK(out[i] == in[i]);
}
