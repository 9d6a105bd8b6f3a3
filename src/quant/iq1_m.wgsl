// iq1_m: x = d * (2 * scale + 1) * (grid +- 1/8), a scale of 3 bits for 16 elements, a direction for 8, d for 256.
// Planes: ix [rows][units] a word of the low bytes of four entries, qh [rows][units] 16 bits: top three bits and direction of each;
// sc [groups][blocks][4 rows] vec2: eight scales in 24 bits and a byte of d.
#define WEIGHT_FLOAT 0
#define WEIGHT_SCALES 2
#define WEIGHT_MIN 1
#include "quant/grid.wgsl"

struct Group { a: vec4<u32>, b: vec4<u32> }

fn load_group(g: u32, r: u32, u: u32) -> Group {
  let i = PLANE_SC + (g * (UNITS / 8u) + u / 8u) * 2u;
  return Group(weights[i], weights[i + 1u]);
}

fn unpack(raw: Raw, group: Group, r: u32, u: u32) -> Unit {
  // Rows are a whole number of blocks, so the parity is that of the unit.
  let qh = raw.qh >> (16u * (u & 1u));
  let two = select(group.a, group.b, r > 1u);
  let sc = select(two.xy, two.zw, (r & 1u) == 1u);
  let d = unpack2x16float((sc.x >> 24u) | ((sc.y >> 24u) << 8u)).x;
  let scales = select(sc.x, sc.y, (u & 4u) != 0u) >> (6u * (u & 3u));
  let s = d * (vec2<f32>(f32(scales & 7u), f32((scales >> 3u) & 7u)) * 0.25 + 0.125);
  let tops = vec4<u32>(qh << 8u, qh << 4u, qh, qh >> 4u);
  return iq1_unit(bytes_of(raw.ix) | (tops & vec4<u32>(0x700u)), tops & vec4<u32>(0x800u), s);
}
