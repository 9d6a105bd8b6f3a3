// iq2_xxs: x = d * (scale + 1/2) / 4 * sign * grid, a scale of 4 bits for each unit, d for 256 elements.
// Planes: is [rows][units] vec2: four entries; signs, with the scale beside them. d4 [groups][blocks] four f16.
#define WEIGHT_FLOAT 0
#define WEIGHT_SCALES 1
#define WEIGHT_MIN 0
#include "quant/grid.wgsl"

struct Group { d: vec2<u32> }

fn load_group(g: u32, r: u32, u: u32) -> Group { return Group(plane_pair(PLANE_D4, g * (UNITS / 8u) + u / 8u)); }

struct Raw { v: vec2<u32> }
fn load_raw(g: u32, r: u32, u: u32) -> Raw { return Raw(plane_pair(PLANE_IS, (g * 4u + r) * UNITS + u)); }

fn unpack(raw: Raw, group: Group, r: u32, u: u32) -> Unit {
  let is = raw.v;
  let s = half_of_4(group.d, r) * (f32(beside_signs(is.y)) * 0.25 + 0.125);
  return iq2_unit(bytes_of(is.x), even_signs(is.y), vec2<f32>(s));
}
