// q2_k: x = d * scale * q - dmin * min, scale and min (4 bits each) for 16 elements, d and dmin for 256.
// Planes: q2 [rows][units / 2] vec4, sc [groups][blocks][4 rows] vec4 (16 bytes, scale in the low nibble), dm4 [groups][blocks] four
// pairs of f16.
#define WEIGHT_FLOAT 0
#define WEIGHT_SCALES 2
#define WEIGHT_MIN 1

struct Group { dm: vec4<u32> }

fn load_group(g: u32, u: u32) -> Group { return Group(weights[PLANE_DM4 + g * (UNITS / 8u) + u / 8u]); }

struct Raw { q: vec4<u32>, sc: u32 }
fn load_raw(g: u32, r: u32, u: u32) -> Raw {
  return Raw(weights[PLANE_Q2 + (g * 4u + r) * (UNITS / 2u) + u / 2u], weights[PLANE_SC + (g * (UNITS / 8u) + u / 8u) * 4u + r][(u & 7u) >> 1u]);
}

fn unpack(raw: Raw, group: Group, r: u32, u: u32) -> Unit {
  let q = raw.q >> vec4<u32>(4u * (u & 1u));
  let sc = raw.sc >> (16u * (u & 1u));
  let dm = unpack2x16float(group.dm[r]);
  // As 32 q: a sum of products that is off by one, as an fma that rounds twice may leave it, is off by the less.
  return Unit((q << vec4<u32>(5u)) & vec4<u32>(0x60606060u), (q << vec4<u32>(3u)) & vec4<u32>(0x60606060u),
              dm.x * 0.03125 * vec2<f32>(f32(sc & 15u), f32((sc >> 8u) & 15u)),
              -dm.y * vec2<f32>(f32((sc >> 4u) & 15u), f32((sc >> 12u) & 15u)));
}
