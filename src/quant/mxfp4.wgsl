// mxfp4: x = 2^(e - 128) * twice e2m1.  Planes: b4 [rows][units] vec4 (lookup.wgsl), e4 [groups][units] a byte for each row.
#define WEIGHT_FLOAT 0
#define WEIGHT_SCALES 1
#define WEIGHT_MIN 0
#include "quant/lookup.wgsl"

struct Group { e: u32 }

fn load_group(g: u32, r: u32, u: u32) -> Group {
  let i = g * UNITS + u;
  return Group(weights[PLANE_E4 + (i >> 2u)][i & 3u]);
}

fn unpack(raw: Raw, group: Group, r: u32, u: u32) -> Unit {
  let q = lookup(raw.bits);
  let e = (group.e >> (8u * r)) & 255u;
  // The two smallest are subnormal, and a device may take them for zero.
  let s = bitcast<f32>(select((e - 1u) << 23u, 0x00200000u << e, e < 2u));
  return Unit(q.lo, q.hi, vec2<f32>(s), vec2<f32>());
}
