// q3_k: x = d * (scale - 32) * (q - 4), a scale of 6 bits for 16 elements, d for 256.
// Planes, a row each component of a vec4: q3 [groups][units] three vec4, sc [groups][blocks] three vec4 (low nibbles of scales 0..7, of
// 8..15, top two bits of all); d4 [groups][blocks] four f16.
#define WEIGHT_FLOAT 0
#define WEIGHT_SCALES 2
#define WEIGHT_MIN 0

struct Group { a: Four, b: Four, c: Four, low: Four, top: Four, d: vec2<u32> }

fn load_group(g: u32, r: u32, u: u32) -> Group {
  let at = PLANE_Q3 + (g * UNITS + u) * 3u;
  let block = g * (UNITS / 8u) + u / 8u;
  let in_block = u & 7u;
  return Group(load_four(at, r), load_four(at + 1u, r), load_four(at + 2u, r),
               load_four(PLANE_SC + block * 3u + (in_block >> 2u), r) >> Four(8u * (in_block & 3u)),
               load_four(PLANE_SC + block * 3u + 2u, r) >> Four(4u * in_block), plane_pair(PLANE_D4, block));
}

struct Raw { unused: u32 }
fn load_raw(g: u32, r: u32, u: u32) -> Raw { return Raw(0u); }

fn unpack(raw: Raw, group: Group, r: u32, u: u32) -> Unit {
  let a = of_row(group.a, r);
  let b = of_row(group.b, r);
  let c = of_row(group.c, r);
  // 32 (q - 4). The last four of each half are in the bits that three times two elements leave of each byte.
  let lo = centred(vec4<u32>(vec3<u32>(a << 3u, b << 3u, c << 3u) & vec3<u32>(0xe0e0e0e0u),
                             ((a << 5u) & 0x60606060u) | ((c << 7u) & 0x80808080u)));
  let hi = centred(vec4<u32>(vec3<u32>(a, b, c) & vec3<u32>(0xe0e0e0e0u), ((b << 5u) & 0x60606060u) | ((c << 6u) & 0x80808080u)));
  let low = of_row(group.low, r);
  let top = of_row(group.top, r);
  let scale = vec2<f32>(f32((low & 15u) | ((top & 3u) << 4u)), f32(((low >> 4u) & 15u) | ((top & 12u) << 2u))) - 32.0;
  return Unit(lo, hi, half_of_4(group.d, r) * 0.03125 * scale, vec2<f32>());
}
