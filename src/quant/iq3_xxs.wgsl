// iq3_xxs: x = d * (scale + 1/2) / 2 * sign * grid, a scale of 4 bits for each unit, d for 256 elements.
// Planes: ix [rows][units] vec2 of eight entries, sg [rows][units] a word: signs, with the scale beside them; d4 [groups][blocks] four f16.
#define WEIGHT_FLOAT 0
#define WEIGHT_SCALES 1
#define WEIGHT_MIN 0
#include "quant/grid.wgsl"

struct Group { d: vec2<u32> }

fn load_group(g: u32, r: u32, u: u32) -> Group { return Group(plane_pair(PLANE_D4, g * (UNITS / 8u) + u / 8u)); }

fn unpack(raw: Raw, group: Group, r: u32, u: u32) -> Unit {
  let ix = raw.ix;
  let sg = raw.sg;
  let s = half_of_4(group.d, r) * (f32(beside_signs(sg)) * 0.5 + 0.25);
  return iq3_unit(bytes_of(ix.x), bytes_of(ix.y), even_signs(sg), s);
}
