// q5_0: x = d * (q - 16).  Planes: q4 [rows][units] vec4, h1 [groups][units] a word for each row, s4 [groups][units] four f16.
#define WEIGHT_FLOAT 0
#define WEIGHT_SCALES 1
#define WEIGHT_MIN 0

struct Group { h: vec4<u32>, d: vec2<u32> }

fn load_group(g: u32, r: u32, u: u32) -> Group {
  let i = g * UNITS + u;
  return Group(weights[PLANE_H1 + i], plane_pair(PLANE_S4, i));
}

struct Raw { q: vec4<u32> }
fn load_raw(g: u32, r: u32, u: u32) -> Raw { return Raw(weights[PLANE_Q4 + (g * 4u + r) * UNITS + u]); }

fn unpack(raw: Raw, group: Group, r: u32, u: u32) -> Unit {
  // 8 (q - 16).
  let h = group.h[r];
  let lo = centred(((raw.q << vec4<u32>(3u)) & vec4<u32>(0x78787878u)) | top_bits_lo(h));
  let hi = centred(((raw.q >> vec4<u32>(1u)) & vec4<u32>(0x78787878u)) | top_bits_hi(h));
  return Unit(lo, hi, vec2<f32>(half_of_4(group.d, r) * 0.125), vec2<f32>());
}
