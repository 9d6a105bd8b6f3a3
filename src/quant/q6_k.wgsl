// q6_k: x = d * scale * (q - 32), a signed scale of 8 bits for 16 elements, d for 256.
// Planes: q4 [rows][units] vec4; a row each component of a vec4: q2 [groups][units] two vec4 (the top two bits), sc [groups][units / 2] vec4
// of four scales; d4 [groups][blocks] four f16.
#define WEIGHT_FLOAT 0
#define WEIGHT_SCALES 2
#define WEIGHT_MIN 0

struct Group { lo: Four, hi: Four, sc: Four, d: vec2<u32> }

fn load_group(g: u32, r: u32, u: u32) -> Group {
  let at = PLANE_Q2 + (g * UNITS + u) * 2u;
  let sc = load_four(PLANE_SC + g * (UNITS / 2u) + u / 2u, r);
  return Group(load_four(at, r), load_four(at + 1u, r), sc >> Four(16u * (u & 1u)), plane_pair(PLANE_D4, g * (UNITS / 8u) + u / 8u));
}

struct Raw { q: vec4<u32> }
fn load_raw(g: u32, r: u32, u: u32) -> Raw { return Raw(weights[PLANE_Q4 + (g * 4u + r) * UNITS + u]); }

// The 16 elements of a word of plane q2, at the top of their bytes.
fn top_pairs(word: u32) -> vec4<u32> { return vec4<u32>(word << 6u, word << 4u, word << 2u, word) & vec4<u32>(0xc0c0c0c0u); }

fn unpack(raw: Raw, group: Group, r: u32, u: u32) -> Unit {
  let sc = of_row(group.sc, r);
  // Sign-extended bytes 0 and 1.
  let scale = bitcast<vec2<i32>>(vec2<u32>(sc << 24u, sc << 16u)) >> vec2<u32>(24u);
  // 4 (q - 32).
  let lo = centred(((raw.q << vec4<u32>(2u)) & vec4<u32>(0x3c3c3c3cu)) | top_pairs(of_row(group.lo, r)));
  let hi = centred(((raw.q >> vec4<u32>(2u)) & vec4<u32>(0x3c3c3c3cu)) | top_pairs(of_row(group.hi, r)));
  return Unit(lo, hi, half_of_4(group.d, r) * 0.25 * vec2<f32>(scale), vec2<f32>());
}
