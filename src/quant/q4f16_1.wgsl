// q4f16_1 (MLC): x = d * (q - 7).  Planes: q4 [rows][units] vec4, s4 [groups][units] four f16.
#define WEIGHT_FLOAT 0
#define WEIGHT_SCALES 1
#define WEIGHT_MIN 1

struct Group { d: vec2<u32> }

fn load_group(g: u32, r: u32, u: u32) -> Group { return Group(plane_pair(PLANE_S4, g * UNITS + u)); }

struct Raw { q: vec4<u32> }
fn load_raw(g: u32, r: u32, u: u32) -> Raw { return Raw(weights[PLANE_Q4 + (g * 4u + r) * UNITS + u]); }

fn unpack(raw: Raw, group: Group, r: u32, u: u32) -> Unit {
  let d = half_of_4(group.d, r);
  return Unit(nibbles_lo(raw.q), nibbles_hi(raw.q), vec2<f32>(d), vec2<f32>(-7.0 * d));
}
