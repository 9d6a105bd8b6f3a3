// q8_0: x = d * q, q signed.  Planes: q8 [rows][units] two vec4, s4 [groups][units] four f16.
#define WEIGHT_FLOAT 0
#define WEIGHT_SCALES 1
#define WEIGHT_MIN 0

struct Group { d: vec2<u32> }

fn load_group(g: u32, r: u32, u: u32) -> Group { return Group(plane_pair(PLANE_S4, g * UNITS + u)); }

struct Raw { lo: vec4<u32>, hi: vec4<u32> }
fn load_raw(g: u32, r: u32, u: u32) -> Raw {
  let i = PLANE_Q8 + ((g * 4u + r) * UNITS + u) * 2u;
  return Raw(weights[i], weights[i + 1u]);
}

fn unpack(raw: Raw, group: Group, r: u32, u: u32) -> Unit {
  return Unit(raw.lo, raw.hi, vec2<f32>(half_of_4(group.d, r)), vec2<f32>());
}
