// Of the codebook types. Plane grid (planes_builder.h) holds an entry a word; signs lie as in plane h1: bit 8b + j is that of
// element 4j + b.
fn grid(entry: u32) -> u32 { return weights[PLANE_GRID + (entry >> 2u)][entry & 3u]; }

// Words of four bytes of at least 1, negative where word j of the unit has a sign.
fn negate(v: u32, signs: u32, j: u32) -> u32 {
  let ones = (signs >> j) & 0x01010101u;
  return (v ^ (ones * 255u)) + ones;
}

// The signs of a unit where the eighth of each 8 elements is not stored: it makes their number even. Its place holds another bit.
fn even_signs(word: u32) -> u32 {
  let stored = word & 0x55ffffffu;
  let pairs = stored ^ (stored >> 16u);
  let folded = pairs ^ (pairs >> 8u);
  return stored | (((folded ^ (folded >> 1u)) & 0x55u) << 25u);
}
// The bits in those places, as a number.
fn beside_signs(word: u32) -> u32 {
  let a = (word >> 25u) & 0x55u;
  let b = (a | (a >> 1u)) & 0x33u;
  return (b | (b >> 2u)) & 15u;
}

#if defined(WEIGHT_IQ2_XXS) || defined(WEIGHT_IQ2_XS) || defined(WEIGHT_IQ2_S)
// Four of the codes 0, 1, 2 as the values 8, 25, 43.
fn iq2_values(codes: u32) -> u32 {
  let c = codes & 0x03030303u;
  return c * 17u + 0x08080808u + ((c >> 1u) & 0x01010101u);
}

fn iq2_unit(e: vec4<u32>, signs: u32, s: vec2<f32>) -> Unit {
  let w0 = grid(e.x);
  let w1 = grid(e.y);
  let w2 = grid(e.z);
  let w3 = grid(e.w);
  return Unit(vec4<u32>(negate(iq2_values(w0), signs, 0u), negate(iq2_values(w0 >> 2u), signs, 1u),
                        negate(iq2_values(w1), signs, 2u), negate(iq2_values(w1 >> 2u), signs, 3u)),
              vec4<u32>(negate(iq2_values(w2), signs, 4u), negate(iq2_values(w2 >> 2u), signs, 5u),
                        negate(iq2_values(w3), signs, 6u), negate(iq2_values(w3 >> 2u), signs, 7u)),
              s, vec2<f32>());
}
#endif

#if defined(WEIGHT_IQ3_XXS) || defined(WEIGHT_IQ3_S)
struct Raw { ix: vec2<u32>, sg: u32 }
fn load_raw(g: u32, r: u32, u: u32) -> Raw {
  let i = (g * 4u + r) * UNITS + u;
  return Raw(plane_pair(PLANE_IX, i), weights[PLANE_SG + (i >> 2u)][i & 3u]);
}

fn iq3_unit(lo: vec4<u32>, hi: vec4<u32>, signs: u32, s: f32) -> Unit {
  return Unit(vec4<u32>(negate(grid(lo.x), signs, 0u), negate(grid(lo.y), signs, 1u), negate(grid(lo.z), signs, 2u),
                        negate(grid(lo.w), signs, 3u)),
              vec4<u32>(negate(grid(hi.x), signs, 4u), negate(grid(hi.y), signs, 5u), negate(grid(hi.z), signs, 6u),
                        negate(grid(hi.w), signs, 7u)),
              vec2<f32>(s), vec2<f32>());
}
#endif

#if defined(WEIGHT_IQ1_S) || defined(WEIGHT_IQ1_M)
struct Raw { ix: u32, qh: u32 }
fn load_raw(g: u32, r: u32, u: u32) -> Raw {
  let i = (g * 4u + r) * UNITS + u;
  return Raw(weights[PLANE_IX + (i >> 2u)][i & 3u], weights[PLANE_QH + (i >> 3u)][(i >> 1u) & 3u]);
}

// Eighths plus 9: 8 * code + 2, or 8 * code where the entry is moved down; s is an eighth of the scale.
fn iq1_word(codes: u32, down: u32) -> u32 { return ((codes << 3u) & 0x18181818u) | select(0x02020202u, 0u, down != 0u); }

fn iq1_unit(e: vec4<u32>, down: vec4<u32>, s: vec2<f32>) -> Unit {
  let w0 = grid(e.x);
  let w1 = grid(e.y);
  let w2 = grid(e.z);
  let w3 = grid(e.w);
  return Unit(vec4<u32>(iq1_word(w0, down.x), iq1_word(w0 >> 2u, down.x), iq1_word(w1, down.y), iq1_word(w1 >> 2u, down.y)),
              vec4<u32>(iq1_word(w2, down.z), iq1_word(w2 >> 2u, down.z), iq1_word(w3, down.w), iq1_word(w3 >> 2u, down.w)),
              s, -9.0 * s);
}
#endif

fn bytes_of(w: u32) -> vec4<u32> { return (vec4<u32>(w) >> vec4<u32>(0u, 8u, 16u, 24u)) & vec4<u32>(255u); }
