// q6_k: x = d * scale * (q - 32), a signed scale of 8 bits for 16 elements, d for 256.
// Planes: q4 [rows][units] vec4, q2 [rows][units / 2] vec4 (the top two bits), sc [groups][blocks][4 rows] vec4 of 16 scales,
// d4 [groups][blocks] four f16.
#define WEIGHT_FLOAT 0
#define WEIGHT_SCALES 2
#define WEIGHT_MIN 0

struct Group { d: vec2<u32> }

fn load_group(g: u32, u: u32) -> Group { return Group(plane_pair(PLANE_D4, g * (UNITS / 8u) + u / 8u)); }

struct Raw { q: vec4<u32>, top: vec4<u32>, sc: u32 }
fn load_raw(g: u32, r: u32, u: u32) -> Raw {
  let row = g * 4u + r;
  return Raw(weights[PLANE_Q4 + row * UNITS + u], weights[PLANE_Q2 + row * (UNITS / 2u) + u / 2u],
             weights[PLANE_SC + (g * (UNITS / 8u) + u / 8u) * 4u + r][(u & 7u) >> 1u]);
}

fn unpack(raw: Raw, group: Group, r: u32, u: u32) -> Unit {
  let top = raw.top >> vec4<u32>(4u * (u & 1u));
  let sc = raw.sc >> (16u * (u & 1u));
  // Sign-extended bytes 0 and 1.
  let scale = bitcast<vec2<i32>>(vec2<u32>(sc << 24u, sc << 16u)) >> vec2<u32>(24u);
  // 4 (q - 32).
  let lo = centred(((raw.q << vec4<u32>(2u)) & vec4<u32>(0x3c3c3c3cu)) | ((top << vec4<u32>(6u)) & vec4<u32>(0xc0c0c0c0u)));
  let hi = centred(((raw.q >> vec4<u32>(2u)) & vec4<u32>(0x3c3c3c3cu)) | ((top << vec4<u32>(4u)) & vec4<u32>(0xc0c0c0c0u)));
  return Unit(lo, hi, half_of_4(group.d, r) * 0.25 * vec2<f32>(scale), vec2<f32>());
}
