// iq3_s: x = d * (1 + 2 * scale) * sign * grid, a scale of 4 bits for each unit, d for 256 elements.
// Planes: ix [rows][units] vec2 of the low bytes of eight entries, sg [rows][units] a word of signs, sc [groups][blocks] three vec4 of a
// word for each row (ninth bits of the entries of units 0..3, of 4..7, scales), d4 [groups][blocks] four f16.
#define WEIGHT_FLOAT 0
#define WEIGHT_SCALES 1
#define WEIGHT_MIN 0
#include "quant/grid.wgsl"

struct Group { d: vec2<u32>, tops: vec4<u32>, scales: vec4<u32> }

fn load_group(g: u32, r: u32, u: u32) -> Group {
  let block = g * (UNITS / 8u) + u / 8u;
  return Group(plane_pair(PLANE_D4, block), weights[PLANE_SC + block * 3u + ((u >> 2u) & 1u)] >> vec4<u32>(8u * (u & 3u)),
               weights[PLANE_SC + block * 3u + 2u] >> vec4<u32>(4u * (u & 7u)));
}

fn unpack(raw: Raw, group: Group, r: u32, u: u32) -> Unit {
  let ix = raw.ix;
  let tops = vec4<u32>(group.tops[r]);
  let s = half_of_4(group.d, r) * f32(1u + 2u * (group.scales[r] & 15u));
  return iq3_unit(bytes_of(ix.x) | ((tops << vec4<u32>(8u, 7u, 6u, 5u)) & vec4<u32>(0x100u)),
                  bytes_of(ix.y) | ((tops << vec4<u32>(4u, 3u, 2u, 1u)) & vec4<u32>(0x100u)),
                  raw.sg, s);
}
