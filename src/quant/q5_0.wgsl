// q5_0: x = d * (q - 16).  Planes: q4 [rows][units] vec4, h1 [groups][units] a word for each row, s4 [groups][units] four f16.
#define WEIGHT_FLOAT 0
#define WEIGHT_SCALES 1
#define WEIGHT_MIN 1

struct Group { h: vec4<u32>, d: vec2<u32> }

fn load_group(g: u32, u: u32) -> Group {
  let i = g * UNITS + u;
  return Group(weights[PLANE_H1 + i], plane_pair(PLANE_S4, i));
}

struct Raw { q: vec4<u32> }
fn load_raw(g: u32, r: u32, u: u32) -> Raw { return Raw(weights[PLANE_Q4 + (g * 4u + r) * UNITS + u]); }

fn unpack(raw: Raw, group: Group, r: u32, u: u32) -> Unit {
  let h = group.h[r];
  let d = half_of_4(group.d, r);
  return Unit(nibbles_lo(raw.q) | fifth_bits_lo(h), nibbles_hi(raw.q) | fifth_bits_hi(h), vec2<f32>(d), vec2<f32>(-16.0 * d));
}
