#include "quant/q6_k.h"

#include "quant/quant_test_util.h"

using namespace puna::quant;

TEST_CASE("a q6_k block written by hand decodes to the values meant") {
  BlockQ6_K block{};
  block.d = 0x3800;  // 0.5
  block.scales[0] = 2;
  block.scales[4] = -4;    // elements 64..79
  block.scales[15] = 127;  // elements 240..255
  block.ql[0] = 0xf1;      // low bits: element 0: 1, element 64: 15
  block.qh[0] = 0x12;      // top bits of elements 0, 32, 64, 96: 2, 0, 1, 0
  block.ql[127] = 0xf0;    // element 255: low bits 15
  block.qh[63] = 0xc0;     // element 255: top bits 3
  float out[256];
  decode(block, out);
  CHECK(out[0] == 1.0f);       // 0.5 * 2 * (33 - 32)
  CHECK(out[64] == 2.0f);      // 0.5 * -4 * (31 - 32)
  CHECK(out[255] == 1968.5f);  // 0.5 * 127 * (63 - 32)
  CHECK(out[1] == -32.0f);
}

TEST_CASE("q6_k decodes every element as described") {
  check_decode<BlockQ6_K>({208}, [](const BlockQ6_K& b, int e) {
    const int n = e / 128;
    const int r =
        e %
        128;  // quarters of 32: low nibbles of bytes 0..31, 32..63, then the high nibbles of both
    const int byte = b.ql[64 * n + r % 64];
    const int low = r < 64 ? byte % 16 : byte / 16;
    const int high = b.qh[32 * n + r % 32] >> 2 * (r / 32) & 3;
    return double{half(b.d)} * b.scales[e / 16] * (low + 16 * high - 32);
  });
}
