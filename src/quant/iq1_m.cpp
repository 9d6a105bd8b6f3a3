#include "quant/iq1_m.h"

#include "quant/iq1_s.h"
#include "quant/planes_builder.h"

namespace puna::quant {

void read_unit(const BlockIQ1_M& block, uint32_t u, UnitCodes& out) {
  for (uint32_t l = 0; l < 4; ++l) {
    const uint32_t top = block.qh[2 * u + l / 2] >> (l % 2 * 4) & 15u;
    put_eighths(block.qs[4 * u + l] | (top & 7) << 8, top >> 3 != 0, out.code + 8 * l);
  }
  uint32_t d = 0;
  for (uint32_t i = 0; i < 4; ++i) d |= static_cast<uint32_t>(block.scales[i] >> 12) << (4 * i);
  for (uint32_t h = 0; h < 2; ++h) {
    const uint32_t scale = 2 * (block.scales[u / 2] >> (6 * (u % 2) + 3 * h) & 7u) + 1;
    out.scale[h] = base::f16_to_f32(static_cast<uint16_t>(d)) * static_cast<float>(scale) * 0.125f;
  }
}

TypePlanes BlockIQ1_M::planes() {
  PlanesBuilder b(256, "repack/grids.wgsl");
  b.row_plane("ix", 8);
  b.row_plane("qh", 4);
  b.group_plane("sc", 8, 64);  // two words: eight scales of 3 bits each, and a byte of d on top
  b.words("ix", 0, 8);
  b.words("qh", 0, 4);
  for (uint32_t i = 0; i < 4; ++i) {
    b.field("sc", i / 2 * 32 + i % 2 * 12, 12);
    b.field("sc", i / 2 * 32 + 24 + i % 2 * 4, 4);
  }
  b.grid(iq1_words());
  return b.take();
}

void set_scale(float x, BlockIQ1_M& block) {
  const uint32_t half = base::f32_to_f16(x);
  for (uint32_t i = 0; i < 4; ++i)
    block.scales[i] =
        static_cast<uint16_t>((block.scales[i] & 0xfff) | (half >> (4 * i) & 15) << 12);
}

}  // namespace puna::quant
