// q4f32_1 (MLC): x = d * (q - 7), d in f32.  Planes: q4 [rows][units] vec4, f4 [groups][units] four f32.
// The codes are made signed, as d * q alone would round.
#define WEIGHT_FLOAT 0
#define WEIGHT_SCALES 1
#define WEIGHT_MIN 0

struct Group { d: vec4<u32> }

fn load_group(g: u32, r: u32, u: u32) -> Group { return Group(weights[PLANE_F4 + g * UNITS + u]); }

struct Raw { q: vec4<u32> }
fn load_raw(g: u32, r: u32, u: u32) -> Raw { return Raw(weights[PLANE_Q4 + (g * 4u + r) * UNITS + u]); }

// Bytes 0..15 less 7, without a borrow between them.
fn less_7(v: vec4<u32>) -> vec4<u32> {
  return ((v | vec4<u32>(0x80808080u)) - vec4<u32>(0x07070707u)) ^ vec4<u32>(0x80808080u);
}

fn unpack(raw: Raw, group: Group, r: u32, u: u32) -> Unit {
  return Unit(less_7(nibbles_lo(raw.q)), less_7(nibbles_hi(raw.q)), vec2<f32>(bitcast<f32>(group.d[r])), vec2<f32>());
}
