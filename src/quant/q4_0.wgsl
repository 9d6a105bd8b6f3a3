// q4_0: x = d * (q - 8).  Planes: q4 [rows][units] vec4, s4 [groups][units] four f16.
#define WEIGHT_FLOAT 0
#define WEIGHT_SCALES 1
#define WEIGHT_MIN 1

struct Group { d: vec2<u32> }

fn load_group(g: u32, u: u32) -> Group { return Group(plane_pair(PLANE_S4, g * UNITS + u)); }

fn load_unit(group: Group, g: u32, r: u32, u: u32) -> Unit {
  let q = weights[PLANE_Q4 + (g * 4u + r) * UNITS + u];
  let d = half_of_4(group.d, r);
  return Unit(nibbles_lo(q), nibbles_hi(q), vec2<f32>(d), vec2<f32>(-8.0 * d));
}
