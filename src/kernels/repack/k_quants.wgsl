// q2_k, q3_k, q4_k, q5_k, q6_k, tq2_0: blocks of 256. The invocation of a block's first unit also writes the block's header.
#if defined(WEIGHT_Q2_K)
const CODES = 16u;    // byte offsets inside the block
const HEADER = 0u;
const SCALE = 80u;    // d, and dmin after it
#elif defined(WEIGHT_Q3_K)
const HIGH = 0u;
const CODES = 32u;
const HEADER = 96u;
const SCALE = 108u;
#elif defined(WEIGHT_Q4_K)
const SCALE = 0u;
const HEADER = 4u;
const CODES = 16u;
#elif defined(WEIGHT_Q5_K)
const SCALE = 0u;
const HEADER = 4u;
const HIGH = 16u;
const CODES = 48u;
#elif defined(WEIGHT_TQ2_0)
const CODES = 0u;
const SCALE = 64u;
#else
const NIBBLES = 0u;
const CODES = 128u;   // the top two bits, which lie like the codes of q2_k
const HEADER = 192u;
const SCALE = 208u;
#endif

#if defined(WEIGHT_Q2_K) || defined(WEIGHT_Q3_K) || defined(WEIGHT_Q6_K) || defined(WEIGHT_TQ2_0)
#define PAIRS 1
// The pairs of bits of 16 elements of unit j, a byte each: the first (half 0) or the last ones. In the file, bits 2s of byte 32n + l are
// element 128n + 32s + l.
fn pairs(at: u32, j: u32, half: u32) -> vec4<u32> {
  return (file_vec4(at + 32u * (j / 4u) + 16u * half) >> vec4<u32>(2u * (j % 4u))) & vec4<u32>(0x03030303u);
}
#endif
#if defined(WEIGHT_Q2_K) || defined(WEIGHT_Q6_K) || defined(WEIGHT_TQ2_0)
// Those as a word of plane q2.
fn q2_word(p: vec4<u32>) -> u32 { return p.x | (p.y << 2u) | (p.z << 4u) | (p.w << 6u); }
#endif
#ifdef WEIGHT_Q3_K
// The words of plane q3 of 32 elements, a byte each.
fn q3_words(lo: vec4<u32>, hi: vec4<u32>) -> vec3<u32> {
  let low = vec4<u32>(lo.w, hi.w, lo.w >> 2u, hi.w >> 2u) & vec4<u32>(0x03030303u, 0x03030303u, 0x01010101u, 0x01010101u);
  return (lo.xyz << vec3<u32>(2u)) | (hi.xyz << vec3<u32>(5u)) | vec3<u32>(low.x, low.y, low.z | (low.w << 1u));
}
// Bit j of byte l is the top bit of element 32j + l: of 16 elements, where it stands in their values.
fn top_bits(at: u32, j: u32, half: u32) -> vec4<u32> {
  return ((file_vec4(at + 16u * half) >> vec4<u32>(j)) & vec4<u32>(0x01010101u)) << vec4<u32>(2u);
}
#endif

#if defined(WEIGHT_Q4_K) || defined(WEIGHT_Q5_K) || defined(WEIGHT_Q6_K)
// A unit of plane q4 from the low or high nibbles of 32 bytes.
fn q4_vec4(at: u32, high: bool) -> vec4<u32> {
  let a = file_vec4(at);
  let b = file_vec4(at + 16u);
  let m = vec4<u32>(0x0f0f0f0fu);
  let four = vec4<u32>(4u);
  return select((a & m) | ((b & m) << four), ((a >> four) & m) | (b & ~m), high);
}
#endif

#ifdef WEIGHT_Q5_K
// Bit j of byte l belongs to element 32j + l.
fn h1_word(at: u32, j: u32) -> u32 {
  let shift = vec4<u32>(j);
  return h1_bits(file_vec4(at) >> shift, 0u) | h1_bits(file_vec4(at + 16u) >> shift, 4u);
}
#endif

// The low nibbles of four bytes side by side, and their low pairs of bits.
fn gather_nibbles(x: u32) -> u32 {
  let a = x & 0x0f0f0f0fu;
  let b = (a | (a >> 4u)) & 0x00ff00ffu;
  return (b | (b >> 8u)) & 0xffffu;
}
fn gather_pairs(x: u32) -> u32 {
  let a = x & 0x03030303u;
  let b = (a | (a >> 6u)) & 0x000f000fu;
  return (b | (b >> 12u)) & 0xffu;
}

#if defined(WEIGHT_Q4_K) || defined(WEIGHT_Q5_K)
// d and dmin, then the 6-bit scales and mins (k_scales.h) as in k_header.wgsl.
fn header_vec4(at: u32) -> vec4<u32> {
  let a = file_u32(at + HEADER);
  let b = file_u32(at + HEADER + 4u);
  let c = file_u32(at + HEADER + 8u);
  return vec4<u32>(file_u32(at + SCALE), gather_nibbles(a) | (gather_nibbles(c) << 16u),
                   gather_nibbles(b) | (gather_nibbles(c >> 4u) << 16u),
                   gather_pairs(a >> 4u) | (gather_pairs(a >> 6u) << 8u) | (gather_pairs(b >> 4u) << 16u) |
                       (gather_pairs(b >> 6u) << 24u));
}
#endif

#ifdef WEIGHT_Q3_K
// Low nibbles of scales 0..7, of 8..15, top two bits of all.
fn scales_vec3(at: u32) -> vec3<u32> {
  let a = file_u32(at);
  let b = file_u32(at + 4u);
  let c = file_u32(at + 8u);
  return vec3<u32>(gather_nibbles(a) | (gather_nibbles(b) << 16u), gather_nibbles(a >> 4u) | (gather_nibbles(b >> 4u) << 16u),
                   gather_pairs(c) | (gather_pairs(c >> 2u) << 8u) | (gather_pairs(c >> 4u) << 16u) |
                       (gather_pairs(c >> 6u) << 24u));
}
#endif

fn repack_unit(g: u32, u: u32) {
  let j = u % 8u;  // unit in its block
  let block = g * (UNITS / 8u) + u / 8u;
  var d: vec4<u32>;
#ifdef PAIRS
  // A word of each row, as is all below that is put side by side.
  var words: array<vec4<u32>, 3>;
#endif
#if defined(WEIGHT_Q2_K) || defined(WEIGHT_Q6_K)
  var bytes: vec4<u32>;
#endif
#ifdef WEIGHT_Q3_K
  var scales: array<vec4<u32>, 3>;
#endif
#ifdef WEIGHT_Q5_K
  var high: vec4<u32>;
#endif
  for (var r = 0u; r < 4u; r++) {
    let row = g * 4u + r;
    let at = block_at(row, u);
    d[r] = file_u32(at + SCALE);
#if defined(WEIGHT_Q4_K) || defined(WEIGHT_Q5_K)
    put_vec4(PLANE_Q4, row * UNITS + u, q4_vec4(at + CODES + 32u * (j / 2u), (j & 1u) == 1u));
    if (j == 0u) { put_vec4(PLANE_HD, block * 4u + r, header_vec4(at)); }
#endif
#ifdef WEIGHT_Q5_K
    high[r] = h1_word(at + HIGH, j);
#endif
#ifdef WEIGHT_Q6_K
    put_vec4(PLANE_Q4, row * UNITS + u, q4_vec4(at + NIBBLES + 64u * (j / 4u) + 32u * (j & 1u), (j & 2u) == 2u));
#endif
#ifdef WEIGHT_Q3_K
    let q = q3_words(pairs(at + CODES, j, 0u) | top_bits(at + HIGH, j, 0u), pairs(at + CODES, j, 1u) | top_bits(at + HIGH, j, 1u));
    let s = scales_vec3(at + HEADER);
#for w in 0..3
    words[w][r] = q[w];
    scales[w][r] = s[w];
#endfor
#elif defined(PAIRS)
    words[0][r] = q2_word(pairs(at + CODES, j, 0u));
    words[1][r] = q2_word(pairs(at + CODES, j, 1u));
#endif
#if defined(WEIGHT_Q2_K) || defined(WEIGHT_Q6_K)
    bytes[r] = file_u32(at + HEADER + 4u * (j / 2u));
#endif
  }
#ifdef WEIGHT_Q3_K
#for w in 0..3
  put_vec4(PLANE_Q3, (g * UNITS + u) * 3u + w, words[w]);
#endfor
#elif defined(PAIRS)
#for w in 0..2
  put_vec4(PLANE_Q2, (g * UNITS + u) * 2u + w, words[w]);
#endfor
#endif
#ifdef WEIGHT_Q5_K
  put_vec4(PLANE_H1, g * UNITS + u, high);
#endif
#if defined(WEIGHT_Q2_K) || defined(WEIGHT_Q6_K)
  if ((j & 1u) == 0u) { put_vec4(PLANE_SC, g * (UNITS / 2u) + u / 2u, bytes); }
#endif
  if (j != 0u) { return; }
#ifdef WEIGHT_Q2_K
  put_vec4(PLANE_DM4, block, d);
#endif
#if defined(WEIGHT_Q3_K) || defined(WEIGHT_Q6_K) || defined(WEIGHT_TQ2_0)
  put_halves(PLANE_D4, block, d & vec4<u32>(0xffffu));
#endif
#ifdef WEIGHT_Q3_K
#for w in 0..3
  put_vec4(PLANE_SC, block * 3u + w, scales[w]);
#endfor
#endif
}
