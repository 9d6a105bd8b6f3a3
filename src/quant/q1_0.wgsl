// q1_0: x = d or -d, d for 128 elements.
// Planes: b1 [rows][units] a word, bit 8b + j that of element 4j + b; s4 [groups][blocks] four f16.
#define WEIGHT_FLOAT 0
#define WEIGHT_SCALES 1
#define WEIGHT_MIN 1

struct Group { d: vec2<u32> }

fn load_group(g: u32, r: u32, u: u32) -> Group { return Group(plane_pair(PLANE_S4, g * (UNITS / 4u) + u / 4u)); }

struct Raw { bits: u32 }
fn load_raw(g: u32, r: u32, u: u32) -> Raw {
  let i = (g * 4u + r) * UNITS + u;
  return Raw(weights[PLANE_B1 + (i >> 2u)][i & 3u]);
}

fn unpack(raw: Raw, group: Group, r: u32, u: u32) -> Unit {
  let bits = vec4<u32>(raw.bits);
  let d = vec2<f32>(half_of_4(group.d, r));
  return Unit((bits >> vec4<u32>(0u, 1u, 2u, 3u)) & vec4<u32>(0x01010101u), (bits >> vec4<u32>(4u, 5u, 6u, 7u)) & vec4<u32>(0x01010101u),
              2.0 * d, -d);
}
