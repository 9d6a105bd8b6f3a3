// iq1_s: x = d * (2 * scale + 1) * (grid +- 1/8), a scale of 3 bits and a direction for each unit, d for 256 elements.
// Planes: ix [rows][units] a word of the low bytes of four entries, qh [rows][units] 16 bits: their top bits, scale, direction;
// d4 [groups][blocks] four f16.
#define WEIGHT_FLOAT 0
#define WEIGHT_SCALES 1
#define WEIGHT_MIN 1
#include "quant/grid.wgsl"

struct Group { d: vec2<u32> }

fn load_group(g: u32, r: u32, u: u32) -> Group { return Group(plane_pair(PLANE_D4, g * (UNITS / 8u) + u / 8u)); }

fn unpack(raw: Raw, group: Group, r: u32, u: u32) -> Unit {
  // Rows are a whole number of blocks, so the parity is that of the unit.
  let qh = raw.qh >> (16u * (u & 1u));
  let tops = (vec4<u32>(qh << 8u, qh << 5u, qh << 2u, qh >> 1u)) & vec4<u32>(0x700u);
  let s = half_of_4(group.d, r) * (f32((qh >> 12u) & 7u) * 0.25 + 0.125);
  return iq1_unit(bytes_of(raw.ix) | tops, vec4<u32>(qh & 0x8000u), vec2<f32>(s));
}
