#include "quant/tq1_0.h"

#include "quant/planes_builder.h"
#include "quant/tq2_0.h"

namespace puna::quant {

namespace {

// Where element e of a block lies: its byte and digit.
struct Place {
  uint32_t byte, digit;
};
Place place_of(uint32_t e) {
  if (e < 160) return {e % 32, e / 32};
  if (e < 240) return {32 + (e - 160) % 16, (e - 160) / 16};
  return {48 + e % 4, (e - 240) / 4};
}

}  // namespace

void read_unit(const BlockTQ1_0& block, uint32_t u, UnitCodes& out) {
  for (uint32_t i = 0; i < 32; ++i) {
    const Place place = place_of(32 * u + i);
    const uint32_t byte = place.byte < 48 ? block.qs[place.byte] : block.qh[place.byte - 48];
    // The digits before this one drop out at the top; the next is the whole part of three times the
    // rest.
    const uint32_t rest = byte * kPowersOf3[place.digit] & 255;
    out.code[i] = static_cast<int8_t>(static_cast<int>(rest * 3 >> 8) - 1);
  }
  set_scale(base::f16_to_f32(block.d), out);
}

void encode(const float* in, BlockTQ1_0& block) {
  const Ternary ternary = to_ternary(in);
  block.d = ternary.d;
  uint32_t number[52] = {};
  for (uint32_t e = 0; e < 256; ++e) {
    const Place place = place_of(e);
    number[place.byte] += ternary.t[e] * kPowersOf3[4 - place.digit];
  }
  for (uint32_t i = 0; i < 52; ++i) {
    (i < 48 ? block.qs[i] : block.qh[i - 48]) = static_cast<uint8_t>((number[i] * 256 + 242) / 243);
  }
}

TypePlanes BlockTQ1_0::planes() {
  PlanesBuilder b(256, "quant/tq1_0_repack.wgsl");
  b.row_plane("t5", 12);
  b.group_plane("t4", 4, 32);
  b.group_plane("d4", 2, 16);
  b.words("t5", 0, 12);
  b.words("t4", 0, 1);
  b.field("d4", 0, 16);
  return b.take();
}

}  // namespace puna::quant
