// q4_k: x = d * scale * q - dmin * min, scale and min (6 bits each) for 32 elements, d and dmin for 256.
// Planes: q4 [rows][units] vec4, hd (k_header.wgsl).
#define WEIGHT_FLOAT 0
#define WEIGHT_SCALES 1
#define WEIGHT_MIN 1
#include "quant/k_header.wgsl"

struct Group { unused: u32 }

fn load_group(g: u32, u: u32) -> Group { return Group(0u); }

fn load_unit(group: Group, g: u32, r: u32, u: u32) -> Unit {
  let q = weights[PLANE_Q4 + (g * 4u + r) * UNITS + u];
  let sm = k_scale_min(g, r, u);
  return Unit(nibbles_lo(q), nibbles_hi(q), sm.xx, sm.yy);
}
