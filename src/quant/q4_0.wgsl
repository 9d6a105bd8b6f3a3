// q4_0: x = d * (q - 8).  Planes: q4 [rows][units] vec4, s4 [groups][units] four f16.
#define WEIGHT_FLOAT 0
#define WEIGHT_SCALES 1
#define WEIGHT_MIN 0

struct Group { d: vec2<u32> }

fn load_group(g: u32, r: u32, u: u32) -> Group { return Group(plane_pair(PLANE_S4, g * UNITS + u)); }

struct Raw { q: vec4<u32> }
fn load_raw(g: u32, r: u32, u: u32) -> Raw { return Raw(weights[PLANE_Q4 + (g * 4u + r) * UNITS + u]); }

fn unpack(raw: Raw, group: Group, r: u32, u: u32) -> Unit {
  // 16 (q - 8).
  let lo = centred((raw.q << vec4<u32>(4u)) & vec4<u32>(0xf0f0f0f0u));
  let hi = centred(raw.q & vec4<u32>(0xf0f0f0f0u));
  return Unit(lo, hi, vec2<f32>(half_of_4(group.d, r) * 0.0625), vec2<f32>());
}
