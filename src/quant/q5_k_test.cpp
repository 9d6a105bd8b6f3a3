#include "quant/q5_k.h"

#include "quant/quant_test_util.h"

using namespace puna::quant;

#include "quant/k_scales.h"

TEST_CASE("a q5_k block written by hand decodes to the values meant") {
  BlockQ5_K block{};
  block.d = 0x3c00;     // 1
  block.dmin = 0x3c00;  // 1
  block.scales[1] = 2;  // group 1: scale 2
  block.scales[5] = 3;  // group 1: min 3
  block.qs[0] = 0xf5;   // element 0: 5, element 32: 15
  block.qh[0] = 0x02;   // fifth bit of element 32
  float out[256];
  decode(block, out);
  CHECK(out[32] == 59.0f);  // 2 * 31 - 3
  CHECK(out[33] == -3.0f);
  CHECK(out[0] == 0.0f);
}

TEST_CASE("q5_k decodes every element as described") {
  check_decode<BlockQ5_K>({0, 2}, [](const BlockQ5_K& b, int e) {
    const int j = e / 32;
    const uint8_t* s = b.scales;
    const int scale = j < 4 ? s[j] & 63 : (s[j + 4] & 15) + 16 * (s[j - 4] >> 6);
    const int min = j < 4 ? s[j + 4] & 63 : (s[j + 4] >> 4) + 16 * (s[j] >> 6);
    const int byte = b.qs[32 * (e / 64) + e % 32];
    const int q = (e % 64 < 32 ? byte % 16 : byte / 16) + 16 * (b.qh[e % 32] >> j & 1);
    return double{half(b.d)} * scale * q - double{half(b.dmin)} * min;
  });
}

TEST_CASE("packed scales and mins unpack to what was packed") {
  std::mt19937 random(1);
  uint8_t scale[8], min[8], packed[12];
  for (int i = 0; i < 8; ++i) {
    scale[i] = random() % 64;
    min[i] = random() % 64;
  }
  pack_scale_mins(scale, min, packed);
  for (int i = 0; i < 8; ++i) {
    CHECK(unpack_scale_min(packed, i).scale == scale[i]);
    CHECK(unpack_scale_min(packed, i).min == min[i]);
  }
}
