#include "quant/tq2_0.h"

#include <cmath>

#include "quant/planes_builder.h"

namespace puna::quant {

Ternary to_ternary(const float* in) {
  float largest = 0;
  for (int i = 0; i < 256; ++i) {
    if (std::fabs(in[i]) > largest) largest = std::fabs(in[i]);
  }
  Ternary out;
  out.d = to_finite_f16(largest);
  const float inverse = safe_inverse(base::f16_to_f32(out.d));
  for (int i = 0; i < 256; ++i)
    out.t[i] = static_cast<uint8_t>(round_clamp(in[i] * inverse, -1, 1) + 1);
  return out;
}

void read_unit(const BlockTQ2_0& block, uint32_t u, UnitCodes& out) {
  const uint8_t* qs = block.qs + u / 4 * 32;
  for (int l = 0; l < 32; ++l) out.code[l] = static_cast<int8_t>((qs[l] >> (u % 4 * 2) & 3) - 1);
  set_scale(base::f16_to_f32(block.d), out);
}

void encode(const float* in, BlockTQ2_0& block) {
  const Ternary ternary = to_ternary(in);
  block = {};
  block.d = ternary.d;
  for (int e = 0; e < 256; ++e) {
    uint8_t& byte = block.qs[e / 128 * 32 + e % 32];
    byte = static_cast<uint8_t>(byte | ternary.t[e] << (e % 128 / 32 * 2));
  }
}

TypePlanes BlockTQ2_0::planes() {
  PlanesBuilder b(256, "repack/k_quants.wgsl");
  b.group_plane("q2", 64, 32);
  b.group_plane("d4", 2, 16);
  b.pairs_of_k();
  b.field("d4", 0, 16);
  return b.take();
}

}  // namespace puna::quant
