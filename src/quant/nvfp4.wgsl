// nvfp4: x = scale / 2 * twice e2m1, a scale of 8 bits (ue4m3) for 16 elements.
// Planes: b4 [rows][units] vec4 (lookup.wgsl), s8 [groups][units / 2] a word of four scales for each row.
#define WEIGHT_FLOAT 0
#define WEIGHT_SCALES 2
#define WEIGHT_MIN 0
#include "quant/lookup.wgsl"

struct Group { s: vec4<u32> }

fn load_group(g: u32, r: u32, u: u32) -> Group {
  return Group(weights[PLANE_S8 + g * (UNITS / 2u) + u / 2u] >> vec4<u32>(16u * (u & 1u)));
}

// Half of each of the two scales in the low bytes; 127 is zero, the top bit counts only for that.
fn half_scales(bytes: u32) -> vec2<f32> {
  let b = vec2<u32>(bytes, bytes >> 8u) & vec2<u32>(255u);
  let x = (b >> vec2<u32>(3u)) & vec2<u32>(15u);
  let mantissa = select(b & vec2<u32>(7u), (b & vec2<u32>(7u)) + 8u, x > vec2<u32>(0u));
  let s = vec2<f32>(mantissa) * bitcast<vec2<f32>>((max(x, vec2<u32>(1u)) + 116u) << vec2<u32>(23u));
  return select(s, vec2<f32>(), b == vec2<u32>(127u));
}

fn unpack(raw: Raw, group: Group, r: u32, u: u32) -> Unit {
  let q = lookup(raw.bits);
  return Unit(q.lo, q.hi, half_scales(group.s[r]), vec2<f32>());
}
