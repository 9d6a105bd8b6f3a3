#include "quant/mxfp4.h"

#include "quant/quant_test_util.h"

using namespace puna::quant;

TEST_CASE("mxfp4 decodes every element as described") {
  check_decode<BlockMXFP4>({}, [](const BlockMXFP4& b, int e) {
    const int q = e < 16 ? b.qs[e] & 15 : b.qs[e - 16] >> 4;
    const double sizes[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
    if (q % 8 == 0) return 0.0;
    return std::ldexp(q < 8 ? sizes[q] : -sizes[q - 8], b.e - 127);
  });
}

TEST_CASE("mxfp4 encodes values on its grid without loss") {
  float in[32];
  for (int i = 0; i < 32; ++i) in[i] = 0.25f * static_cast<float>(kFp4Values[i % 16]);
  BlockMXFP4 block;
  encode(in, block);
  float out[32];
  decode_by_units(block, out);
  for (int i = 0; i < 32; ++i) CHECK(out[i] == in[i]);
}

TEST_CASE("mxfp4 takes the power of two that fits better") {
  float in[32] = {7.9f};
  BlockMXFP4 block;
  encode(in, block);
  float out[32];
  decode_by_units(block, out);
  CHECK(out[0] == 8.0f);
}
