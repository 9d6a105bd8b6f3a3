#include "quant/planes_builder.h"

#include "quant/grids.h"

namespace puna::quant {

TypePlanes float_planes(uint32_t bits) {
  PlanesBuilder b(kUnit, "repack/floats.wgsl");
  b.row_plane("rows", bits);  // bits of an element = words of a unit
  for (uint32_t e = 0; e < kUnit; ++e) b.field("rows", e * bits, bits);
  return b.take();
}

TypePlanes legacy_planes(bool has_min, bool has_high) {
  PlanesBuilder b(32, "repack/legacy.wgsl");
  b.row_plane("q4", 4);
  if (has_high) b.group_plane("h1", 4, 32);
  if (has_min) {
    b.group_plane("dm4", 4, 32);
    b.field("dm4", 0, 32);
  } else {
    b.group_plane("s4", 2, 16);
    b.field("s4", 0, 16);
  }
  for (uint32_t e = 0; e < 32 && has_high; ++e) b.field("h1", h1_bit(e), 1);
  b.nibbles_of_unit();
  return b.take();
}

TypePlanes mlc_planes(std::string_view scales, uint32_t scale_bits) {
  PlanesBuilder b(32, "repack/legacy.wgsl");
  b.row_plane("q4", 4);
  b.group_plane(scales, scale_bits / 8, scale_bits);
  b.field(scales, 0, scale_bits);
  for (uint32_t e = 0; e < 32; ++e) b.field("q4", q4_bit(e), 4);
  return b.take();
}

TypePlanes lookup_planes(std::string_view scale, uint32_t scale_bits) {
  PlanesBuilder b(32, "repack/lookup.wgsl");
  b.row_plane("b4", 4);
  b.group_plane(scale, scale_bits / 8, scale_bits);
  b.field(scale, 0, scale_bits);
  b.bits_of_nibbles(0, 16);
  return b.take();
}

std::vector<uint32_t> iq1_words() {
  return eights(kIq1Grid, [](uint32_t value) { return value; });
}

}  // namespace puna::quant
