// q5_k: x = d * scale * q - dmin * min, scale and min (6 bits each) for 32 elements, d and dmin for 256.
// Planes: q4 [rows][units] vec4, h1 [groups][units] a word for each row, hd (k_header.wgsl).
#define WEIGHT_FLOAT 0
#define WEIGHT_SCALES 1
#define WEIGHT_MIN 1
#include "quant/k_header.wgsl"

struct Group { h: vec4<u32> }

fn load_group(g: u32, r: u32, u: u32) -> Group { return Group(weights[PLANE_H1 + g * UNITS + u]); }

struct Raw { q: vec4<u32>, hd: vec4<u32> }
fn load_raw(g: u32, r: u32, u: u32) -> Raw { return Raw(weights[PLANE_Q4 + (g * 4u + r) * UNITS + u], load_header(g, r, u)); }

fn unpack(raw: Raw, group: Group, r: u32, u: u32) -> Unit {
  let h = group.h[r];
  let sm = k_scale_min(raw.hd, u);
  return Unit(nibbles_lo(raw.q) | fifth_bits_lo(h), nibbles_hi(raw.q) | fifth_bits_hi(h), sm.xx, sm.yy);
}
