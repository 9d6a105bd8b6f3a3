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
// 64 elements (units 2p and 2p + 1 of the block) of a vec4 of plane q2. In the file, bits 2s of byte 32n + l are element
// 128n + 32s + l.
fn q2_vec4(at: u32, p: u32) -> vec4<u32> {
  let start = at + 32u * (p / 2u);
  let shift = vec4<u32>(4u * (p & 1u));
  let a = file_vec4(start) >> shift;
  let b = file_vec4(start + 16u) >> shift;
  let low = vec4<u32>(0x03030303u);
  let next = vec4<u32>(0x0c0c0c0cu);
  return (a & low) | ((b & low) << vec4<u32>(2u)) | ((a & next) << vec4<u32>(2u)) | ((b & next) << vec4<u32>(4u));
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

#if defined(WEIGHT_Q3_K) || defined(WEIGHT_Q5_K)
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
  var d: array<u32, 4>;
#ifdef WEIGHT_Q3_K
  var scales: array<vec3<u32>, 4>;
#endif
#if defined(WEIGHT_Q3_K) || defined(WEIGHT_Q5_K)
  var high: array<u32, 4>;
#endif
  for (var r = 0u; r < 4u; r++) {
    let row = g * 4u + r;
    let at = block_at(row, u);
    d[r] = file_u32(at + SCALE);
#if defined(WEIGHT_Q4_K) || defined(WEIGHT_Q5_K)
    put_vec4(PLANE_Q4, row * UNITS + u, q4_vec4(at + CODES + 32u * (j / 2u), (j & 1u) == 1u));
    if (j == 0u) { put_vec4(PLANE_HD, block * 4u + r, header_vec4(at)); }
#else
    if ((j & 1u) == 0u) { put_vec4(PLANE_Q2, row * (UNITS / 2u) + u / 2u, q2_vec4(at + CODES, j / 2u)); }
#endif
#ifdef WEIGHT_Q6_K
    put_vec4(PLANE_Q4, row * UNITS + u, q4_vec4(at + NIBBLES + 64u * (j / 4u) + 32u * (j & 1u), (j & 2u) == 2u));
#endif
#if defined(WEIGHT_Q2_K) || defined(WEIGHT_Q6_K)
    if (j == 0u) { put_vec4(PLANE_SC, block * 4u + r, file_vec4(at + HEADER)); }
#endif
#ifdef WEIGHT_Q3_K
    scales[r] = scales_vec3(at + HEADER);
#endif
#if defined(WEIGHT_Q3_K) || defined(WEIGHT_Q5_K)
    high[r] = h1_word(at + HIGH, j);
#endif
  }
#if defined(WEIGHT_Q3_K) || defined(WEIGHT_Q5_K)
  put_vec4(PLANE_H1, g * UNITS + u, vec4<u32>(high[0], high[1], high[2], high[3]));
#endif
  if (j != 0u) { return; }
#ifdef WEIGHT_Q2_K
  put_vec4(PLANE_DM4, block, vec4<u32>(d[0], d[1], d[2], d[3]));
#endif
#if defined(WEIGHT_Q3_K) || defined(WEIGHT_Q6_K) || defined(WEIGHT_TQ2_0)
  put_halves(PLANE_D4, block, vec4<u32>(d[0], d[1], d[2], d[3]) & vec4<u32>(0xffffu));
#endif
#ifdef WEIGHT_Q3_K
#for w in 0..3
  put_vec4(PLANE_SC, block * 3u + w, vec4<u32>(scales[0][w], scales[1][w], scales[2][w], scales[3][w]));
#endfor
#endif
}
