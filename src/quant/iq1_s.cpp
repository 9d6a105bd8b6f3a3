#include "quant/iq1_s.h"

#include "quant/grids.h"
#include "quant/planes_builder.h"

namespace puna::quant {

void put_eighths(uint32_t entry, bool down, int8_t* code) {
  // With the top bit of every byte set, no subtraction borrows from the next byte.
  const uint64_t tops = 128 * kEveryByte;
  const uint64_t codes = ((kIq1Grid[entry] << 3 | tops) - (down ? 9 : 7) * kEveryByte) ^ tops;
  std::memcpy(code, &codes, 8);
}

void read_unit(const BlockIQ1_S& block, uint32_t u, UnitCodes& out) {
  const uint32_t word = block.qh[u];
  for (uint32_t l = 0; l < 4; ++l) {
    const uint32_t entry = block.qs[4 * u + l] | (word >> (3 * l) & 7) << 8;
    put_eighths(entry, word >> 15 != 0, out.code + 8 * l);
  }
  const uint32_t scale = 2 * (word >> 12 & 7) + 1;
  set_scale(base::f16_to_f32(block.d) * static_cast<float>(scale) * 0.125f, out);
}

TypePlanes BlockIQ1_S::planes() {
  PlanesBuilder b(256, "repack/grids.wgsl");
  b.row_plane("ix", 8);
  b.row_plane("qh", 4);
  b.group_plane("d4", 2, 16);
  b.field("d4", 0, 16);
  b.words("ix", 0, 8);
  b.words("qh", 0, 4);
  b.grid(iq1_words());
  return b.take();
}

}  // namespace puna::quant
