// q4_1: x = d * q + m.  Planes: q4 [rows][units] vec4, dm4 [groups][units] four pairs of f16.
#define WEIGHT_FLOAT 0
#define WEIGHT_SCALES 1
#define WEIGHT_MIN 1

struct Group { dm: vec4<u32> }

fn load_group(g: u32, r: u32, u: u32) -> Group { return Group(weights[PLANE_DM4 + g * UNITS + u]); }

struct Raw { q: vec4<u32> }
fn load_raw(g: u32, r: u32, u: u32) -> Raw { return Raw(weights[PLANE_Q4 + (g * 4u + r) * UNITS + u]); }

fn unpack(raw: Raw, group: Group, r: u32, u: u32) -> Unit {
  let dm = unpack2x16float(group.dm[r]);
  return Unit(nibbles_lo(raw.q), nibbles_hi(raw.q), vec2<f32>(dm.x), vec2<f32>(dm.y));
}
