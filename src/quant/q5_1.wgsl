// q5_1: x = d * q + m.  Planes: q4 [rows][units] vec4, h1 [groups][units] a word for each row, dm4 [groups][units] four pairs of f16.
#define WEIGHT_FLOAT 0
#define WEIGHT_SCALES 1
#define WEIGHT_MIN 1

struct Group { h: vec4<u32>, dm: vec4<u32> }

fn load_group(g: u32, r: u32, u: u32) -> Group {
  let i = g * UNITS + u;
  return Group(weights[PLANE_H1 + i], weights[PLANE_DM4 + i]);
}

struct Raw { q: vec4<u32> }
fn load_raw(g: u32, r: u32, u: u32) -> Raw { return Raw(weights[PLANE_Q4 + (g * 4u + r) * UNITS + u]); }

fn unpack(raw: Raw, group: Group, r: u32, u: u32) -> Unit {
  let h = group.h[r];
  let dm = unpack2x16float(group.dm[r]);
  return Unit(nibbles_lo(raw.q) | fifth_bits_lo(h), nibbles_hi(raw.q) | fifth_bits_hi(h), vec2<f32>(dm.x), vec2<f32>(dm.y));
}
