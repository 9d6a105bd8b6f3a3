// tq2_0: x = d * (q - 1), d for 256 elements.  Planes: q2 [rows][units / 2] vec4, d4 [groups][blocks] four f16.
#define WEIGHT_FLOAT 0
#define WEIGHT_SCALES 1
#define WEIGHT_MIN 1

struct Group { d: vec2<u32> }

fn load_group(g: u32, u: u32) -> Group { return Group(plane_pair(PLANE_D4, g * (UNITS / 8u) + u / 8u)); }

struct Raw { q: vec4<u32> }
fn load_raw(g: u32, r: u32, u: u32) -> Raw { return Raw(weights[PLANE_Q2 + (g * 4u + r) * (UNITS / 2u) + u / 2u]); }

fn unpack(raw: Raw, group: Group, r: u32, u: u32) -> Unit {
  let q = raw.q >> vec4<u32>(4u * (u & 1u));
  let s = vec2<f32>(half_of_4(group.d, r));
  return Unit(q & vec4<u32>(0x03030303u), (q >> vec4<u32>(2u)) & vec4<u32>(0x03030303u), s, -s);
}
