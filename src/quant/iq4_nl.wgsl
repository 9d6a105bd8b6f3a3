// iq4_nl: x = d * value of q.  Planes: b4 [rows][units] vec4 (lookup.wgsl), s4 [groups][units] four f16.
#define WEIGHT_FLOAT 0
#define WEIGHT_SCALES 1
#define WEIGHT_MIN 0
#include "quant/lookup.wgsl"

struct Group { d: vec2<u32> }

fn load_group(g: u32, r: u32, u: u32) -> Group { return Group(plane_pair(PLANE_S4, g * UNITS + u)); }

fn unpack(raw: Raw, group: Group, r: u32, u: u32) -> Unit {
  let q = lookup(raw.bits);
  return Unit(q.lo, q.hi, vec2<f32>(half_of_4(group.d, r)), vec2<f32>());
}
