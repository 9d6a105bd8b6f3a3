#include "quant/q4_k.h"

#include "quant/quant_test_util.h"

using namespace puna::quant;

TEST_CASE("a q4_k block written by hand decodes to the values meant") {
  BlockQ4_K block{};
  block.d = 0x3c00;        // 1
  block.dmin = 0x3800;     // 0.5
  block.scales[0] = 0x83;  // group 0: scale 3; top bits of group 4's scale: 2
  block.scales[4] = 0x44;  // group 0: min 4; top bits of group 4's min: 1
  block.scales[8] = 0x21;  // group 4: low bits of scale 1, of min 2
  block.qs[0] = 0xf5;      // element 0: 5, element 32: 15
  block.qs[64] = 0x02;     // element 128: 2
  float out[256];
  decode(block, out);
  CHECK(out[0] == 13.0f);  // 3 * 5 - 0.5 * 4
  CHECK(out[1] == -2.0f);
  CHECK(out[32] == 0.0f);    // group 1 has scale 0
  CHECK(out[128] == 57.0f);  // 33 * 2 - 0.5 * 18
}

TEST_CASE("q4_k decodes every element as described") {
  check_decode<BlockQ4_K>({0, 2}, [](const BlockQ4_K& b, int e) {
    const int j = e / 32;
    const uint8_t* s = b.scales;
    const int scale = j < 4 ? s[j] & 63 : (s[j + 4] & 15) + 16 * (s[j - 4] >> 6);
    const int min = j < 4 ? s[j + 4] & 63 : (s[j + 4] >> 4) + 16 * (s[j] >> 6);
    const int byte = b.qs[32 * (e / 64) + e % 32];
    return double{half(b.d)} * scale * (e % 64 < 32 ? byte % 16 : byte / 16) -
           double{half(b.dmin)} * min;
  });
}
