// q3_k: x = d * (scale - 32) * (q - 4), a scale of 6 bits for 16 elements, d for 256.
// Planes: q2 [rows][units / 2] vec4, h1 [groups][units] a word for each row, sc [groups][blocks] three vec4 of a word for each row (low
// nibbles of scales 0..7, of 8..15, top two bits of all), d4 [groups][blocks] four f16.
#define WEIGHT_FLOAT 0
#define WEIGHT_SCALES 2
#define WEIGHT_MIN 0

struct Group { h: vec4<u32>, low: vec4<u32>, top: vec4<u32>, d: vec2<u32> }

fn load_group(g: u32, u: u32) -> Group {
  let block = g * (UNITS / 8u) + u / 8u;
  let in_block = u & 7u;
  return Group(weights[PLANE_H1 + g * UNITS + u],
               weights[PLANE_SC + block * 3u + (in_block >> 2u)] >> vec4<u32>(8u * (in_block & 3u)),
               weights[PLANE_SC + block * 3u + 2u] >> vec4<u32>(4u * in_block), plane_pair(PLANE_D4, block));
}

struct Raw { q: vec4<u32> }
fn load_raw(g: u32, r: u32, u: u32) -> Raw { return Raw(weights[PLANE_Q2 + (g * 4u + r) * (UNITS / 2u) + u / 2u]); }

fn unpack(raw: Raw, group: Group, r: u32, u: u32) -> Unit {
  let q = raw.q >> vec4<u32>(4u * (u & 1u));
  let h = group.h[r];
  // 32 (q - 4).
  let lo = centred(((q << vec4<u32>(5u)) & vec4<u32>(0x60606060u)) | top_bits_lo(h));
  let hi = centred(((q << vec4<u32>(3u)) & vec4<u32>(0x60606060u)) | top_bits_hi(h));
  let low = group.low[r];
  let top = group.top[r];
  let scale = vec2<f32>(f32((low & 15u) | ((top & 3u) << 4u)), f32(((low >> 4u) & 15u) | ((top & 12u) << 2u))) - 32.0;
  return Unit(lo, hi, half_of_4(group.d, r) * 0.03125 * scale, vec2<f32>());
}
