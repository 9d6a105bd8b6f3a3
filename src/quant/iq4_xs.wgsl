// iq4_xs: x = d * (scale - 32) * value of q, a scale of 6 bits for each unit, d for 256 elements.
// Planes: b4 [rows][units] vec4 (lookup.wgsl), hd [groups][blocks][4 rows] vec2: d, top two bits of 8 scales; low nibbles of them.
#define WEIGHT_FLOAT 0
#define WEIGHT_SCALES 1
#define WEIGHT_MIN 0
#include "quant/lookup.wgsl"

struct Group { a: vec4<u32>, b: vec4<u32> }

fn load_group(g: u32, r: u32, u: u32) -> Group {
  let i = PLANE_HD + (g * (UNITS / 8u) + u / 8u) * 2u;
  return Group(weights[i], weights[i + 1u]);
}

fn unpack(raw: Raw, group: Group, r: u32, u: u32) -> Unit {
  let q = lookup(raw.bits);
  let two = select(group.a, group.b, r > 1u);
  let hd = select(two.xy, two.zw, (r & 1u) == 1u);
  let j = u & 7u;
  let scale = ((hd.y >> (4u * j)) & 15u) | (((hd.x >> (16u + 2u * j)) & 3u) << 4u);
  return Unit(q.lo, q.hi, vec2<f32>(unpack2x16float(hd.x).x * (f32(scale) - 32.0)), vec2<f32>());
}
