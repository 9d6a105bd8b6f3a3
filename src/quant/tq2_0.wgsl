// tq2_0: x = d * (q - 1), d for 256 elements.
// Planes: q2 [groups][units] two vec4, a row each component, d4 [groups][blocks] four f16.
#define WEIGHT_FLOAT 0
#define WEIGHT_SCALES 1
#define WEIGHT_MIN 1

struct Group { lo: Four, hi: Four, d: vec2<u32> }

fn load_group(g: u32, r: u32, u: u32) -> Group {
  let at = PLANE_Q2 + (g * UNITS + u) * 2u;
  return Group(load_four(at, r), load_four(at + 1u, r), plane_pair(PLANE_D4, g * (UNITS / 8u) + u / 8u));
}

struct Raw { unused: u32 }
fn load_raw(g: u32, r: u32, u: u32) -> Raw { return Raw(0u); }

fn unpack(raw: Raw, group: Group, r: u32, u: u32) -> Unit {
  let d = vec2<f32>(half_of_4(group.d, r));
  return Unit(pairs_of(of_row(group.lo, r)), pairs_of(of_row(group.hi, r)), 0.03125 * d, -d);
}
