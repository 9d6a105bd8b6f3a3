// q2_k: x = d * scale * q - dmin * min, scale and min (4 bits each) for 16 elements, d and dmin for 256.
// Planes, a row each component of a vec4: q2 [groups][units] two vec4, sc [groups][units / 2] vec4 (four bytes, scale in the low nibble),
// dm4 [groups][blocks] vec4 of pairs of f16.
#define WEIGHT_FLOAT 0
#define WEIGHT_SCALES 2
#define WEIGHT_MIN 1

struct Group { lo: Four, hi: Four, sc: Four, dm: Four }

fn load_group(g: u32, r: u32, u: u32) -> Group {
  let at = PLANE_Q2 + (g * UNITS + u) * 2u;
  let sc = load_four(PLANE_SC + g * (UNITS / 2u) + u / 2u, r);
  return Group(load_four(at, r), load_four(at + 1u, r), sc >> Four(16u * (u & 1u)), load_four(PLANE_DM4 + g * (UNITS / 8u) + u / 8u, r));
}

struct Raw { unused: u32 }
fn load_raw(g: u32, r: u32, u: u32) -> Raw { return Raw(0u); }

fn unpack(raw: Raw, group: Group, r: u32, u: u32) -> Unit {
  let sc = of_row(group.sc, r);
  let dm = unpack2x16float(of_row(group.dm, r));
  return Unit(pairs_of(of_row(group.lo, r)), pairs_of(of_row(group.hi, r)),
              dm.x * 0.03125 * vec2<f32>(f32(sc & 15u), f32((sc >> 8u) & 15u)),
              -dm.y * vec2<f32>(f32((sc >> 4u) & 15u), f32((sc >> 12u) & 15u)));
}
