// q5_0: x = d * (q - 16).  Planes: q4 [rows][units] vec4, h1 [groups][units] a word for each row, s4 [groups][units] four f16.
#define WEIGHT_FLOAT 0
#define WEIGHT_SCALES 1
#define WEIGHT_MIN 0

struct Group { h: vec4<u32>, d: vec2<u32> }

fn load_group(g: u32, u: u32) -> Group {
  let i = g * UNITS + u;
  return Group(weights[PLANE_H1 + i], plane_pair(PLANE_S4, i));
}

struct Raw { q: vec4<u32> }
fn load_raw(g: u32, r: u32, u: u32) -> Raw { return Raw(weights[PLANE_Q4 + (g * 4u + r) * UNITS + u]); }

fn unpack(raw: Raw, group: Group, r: u32, u: u32) -> Unit {
  // In the upper bits of a byte and with the topmost turned round, five bits are 8 (q - 16).
  let h = group.h[r];
  let lo = ((raw.q << vec4<u32>(3u)) & vec4<u32>(0x78787878u)) | ((vec4<u32>(h) << vec4<u32>(7u, 6u, 5u, 4u)) & vec4<u32>(0x80808080u));
  let hi = ((raw.q >> vec4<u32>(1u)) & vec4<u32>(0x78787878u)) | ((vec4<u32>(h) << vec4<u32>(3u, 2u, 1u, 0u)) & vec4<u32>(0x80808080u));
  return Unit(lo ^ vec4<u32>(0x80808080u), hi ^ vec4<u32>(0x80808080u), vec2<f32>(half_of_4(group.d, r) * 0.125), vec2<f32>());
}
