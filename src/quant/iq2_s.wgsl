// iq2_s: x = d * (scale + 1/2) / 4 * sign * grid, a scale of 4 bits for 16 elements, d for 256.
// Planes: is [rows][units] vec2: low bytes of four entries; signs. sc [groups][blocks][4 rows] vec4: top two bits of 32 entries in two words,
// 16 scales in two; d4 [groups][blocks] four f16.
#define WEIGHT_FLOAT 0
#define WEIGHT_SCALES 2
#define WEIGHT_MIN 0
#include "quant/grid.wgsl"

struct Group { d: vec2<u32> }

fn load_group(g: u32, r: u32, u: u32) -> Group { return Group(plane_pair(PLANE_D4, g * (UNITS / 8u) + u / 8u)); }

struct Raw { v: vec2<u32>, sc: vec4<u32> }
fn load_raw(g: u32, r: u32, u: u32) -> Raw {
  return Raw(plane_pair(PLANE_IS, (g * 4u + r) * UNITS + u), weights[PLANE_SC + (g * (UNITS / 8u) + u / 8u) * 4u + r]);
}

fn unpack(raw: Raw, group: Group, r: u32, u: u32) -> Unit {
  let is = raw.v;
  let sc = raw.sc;
  let here = select(sc.xz, sc.yw, (u & 4u) != 0u) >> vec2<u32>(8u * (u & 3u));
  let tops = (vec4<u32>(here.x) << vec4<u32>(8u, 6u, 4u, 2u)) & vec4<u32>(0x300u);
  let s = half_of_4(group.d, r) * (vec2<f32>(f32(here.y & 15u), f32((here.y >> 4u) & 15u)) * 0.25 + 0.125);
  return iq2_unit(bytes_of(is.x) | tops, is.y, s);
}
