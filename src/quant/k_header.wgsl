// The 16-byte header of q4_k and q5_k: d and dmin; low nibbles of the 8 scales, of the 8 mins; top two bits of the scales (low half)
// and of the mins. Plane hd [groups][blocks][4 rows] vec4.

fn load_header(g: u32, r: u32, u: u32) -> vec4<u32> { return weights[PLANE_HD + (g * (UNITS / 8u) + u / 8u) * 4u + r]; }

// The scale and min of a unit: x = s * q + m.
fn k_scale_min(hd: vec4<u32>, u: u32) -> vec2<f32> {
  let j = u & 7u;
  let scale = ((hd.y >> (4u * j)) & 15u) | (((hd.w >> (2u * j)) & 3u) << 4u);
  let least = ((hd.z >> (4u * j)) & 15u) | (((hd.w >> (16u + 2u * j)) & 3u) << 4u);
  return unpack2x16float(hd.x) * vec2<f32>(f32(scale), -f32(least));
}
