// iq2_xs: x = d * (scale + 1/2) / 4 * sign * grid, a scale of 4 bits for 16 elements, d for 256.
// Planes: is [rows][units] vec2: low bytes of four entries; signs, with the ninth bits beside them. sc [groups][blocks][4 rows] vec2 of 16
// scales, d4 [groups][blocks] four f16.
#define WEIGHT_FLOAT 0
#define WEIGHT_SCALES 2
#define WEIGHT_MIN 0
#include "quant/grid.wgsl"

struct Group { d: vec2<u32> }

fn load_group(g: u32, r: u32, u: u32) -> Group { return Group(plane_pair(PLANE_D4, g * (UNITS / 8u) + u / 8u)); }

struct Raw { v: vec2<u32>, sc: vec2<u32> }
fn load_raw(g: u32, r: u32, u: u32) -> Raw {
  return Raw(plane_pair(PLANE_IS, (g * 4u + r) * UNITS + u), plane_pair(PLANE_SC, (g * (UNITS / 8u) + u / 8u) * 4u + r));
}

fn unpack(raw: Raw, group: Group, r: u32, u: u32) -> Unit {
  let is = raw.v;
  let tops = (vec4<u32>(is.y) >> vec4<u32>(17u, 19u, 21u, 23u)) & vec4<u32>(0x100u);
  let sc = raw.sc;
  let two = select(sc.x, sc.y, (u & 4u) != 0u) >> (8u * (u & 3u));
  let s = half_of_4(group.d, r) * (vec2<f32>(f32(two & 15u), f32((two >> 4u) & 15u)) * 0.25 + 0.125);
  return iq2_unit(bytes_of(is.x) | tops, even_signs(is.y), s);
}
