// Activations as the products read them. Includer: COLS, UNITS, and X_STRIDE where rows of x are further apart. B_X binds them as f32,
// B_X8 as the scratch of X8_ROWS rows that quantize.wgsl writes:
//   [row][half][unit] vec4: 16 signed bytes each, then [row][unit] vec4<f32>: scale, scale * sum of the first and second half, and what
//   a norm needs to know of the unit (matvec_handover.wgsl). x[i] is nearly scale * byte[i], where scale = max |x| / 127. With X8_BY_UNIT the
//   rows lie innermost instead, for tiles: [unit][half][row], then [unit][row]. With X_PLANES == 2 a row of x is two rows here, side by
//   side: its bytes, and those of what their rounding left. Products of both are added up.

#ifndef X_PLANES
#define X_PLANES 1
#endif
#ifndef X_STRIDE
#define X_STRIDE COLS
#endif
#ifdef B_X
#if COLS % 4 == 0 && X_STRIDE % 4 == 0
@group(0) @binding(B_X) var<storage, read_write> x: array<vec4<f32>>;
#else
@group(0) @binding(B_X) var<storage, read_write> x: array<f32>;
#endif
#endif
#ifdef B_X8
@group(0) @binding(B_X8) var<storage, read_write> x8: array<vec4<u32>>;
#endif

// A unit of x as the products use it.
struct Bytes {
  lo: vec4<u32>,
  hi: vec4<u32>,
  h: vec4<f32>,
}

// A unit of x as it is made: sums are of the bytes of each half.
struct Quantized {
  lo: vec4<u32>,
  hi: vec4<u32>,
  scale: f32,
  sums: vec2<i32>,
}

// Sums of products of signed bytes as f32, exactly: they stay below 2^22, so that a chain of dp4a that begins with the bits of
// 1.5 * 2^23 leaves them in the mantissa. A conversion from i32 costs as much as four dp4a on some GPUs, the subtraction a quarter of one.
const SUM_BITS = 0x4b400000;
const SUM_FLOAT = 12582912.0;
fn chain16(sum: i32, a: vec4<u32>, b: vec4<u32>) -> i32 {
  return sum + dot4I8Packed(a.x, b.x) + dot4I8Packed(a.y, b.y) + dot4I8Packed(a.z, b.z) + dot4I8Packed(a.w, b.w);
}
// SUM_FLOAT + the sum.
fn bits16(a: vec4<u32>, b: vec4<u32>) -> f32 { return bitcast<f32>(chain16(SUM_BITS, a, b)); }
fn bits32(a_lo: vec4<u32>, a_hi: vec4<u32>, b_lo: vec4<u32>, b_hi: vec4<u32>) -> f32 {
  return bitcast<f32>(chain16(chain16(SUM_BITS, a_lo, b_lo), a_hi, b_hi));
}
fn dot16(a: vec4<u32>, b: vec4<u32>) -> f32 { return bits16(a, b) - SUM_FLOAT; }
fn dot32(a_lo: vec4<u32>, a_hi: vec4<u32>, b_lo: vec4<u32>, b_hi: vec4<u32>) -> f32 { return bits32(a_lo, a_hi, b_lo, b_hi) - SUM_FLOAT; }

fn to_bytes(v: vec4<f32>, inverse: f32) -> u32 { return pack4xI8(vec4<i32>(round(v * inverse))); }
// Below the bound 127 / largest is not finite; such a unit counts as zero.
fn inverse_of_scale(largest: f32) -> f32 { return select(0.0, 127.0 / largest, largest > 1e-36); }
fn sum_of_bytes(v: vec4<u32>) -> i32 {
  let ones = 0x01010101u;
  return dot4I8Packed(v.x, ones) + dot4I8Packed(v.y, ones) + dot4I8Packed(v.z, ones) + dot4I8Packed(v.w, ones);
}
// As bits, whose order is that of magnitudes with NaN above all: the largest float may be another, and what is no number would become one.
// The scale of such a unit is NaN.
fn magnitudes(v: vec4<f32>) -> vec4<u32> { return bitcast<vec4<u32>>(v) & vec4<u32>(0x7fffffffu); }
fn quantize(v: array<vec4<f32>, 8>) -> Quantized {
  var a = magnitudes(v[0]);
#for j in 1..8
  a = max(a, magnitudes(v[j]));
#endfor
  let largest = bitcast<f32>(max(max(a.x, a.y), max(a.z, a.w)));
  let inverse = inverse_of_scale(largest);
  let lo = vec4<u32>(to_bytes(v[0], inverse), to_bytes(v[1], inverse), to_bytes(v[2], inverse), to_bytes(v[3], inverse));
  let hi = vec4<u32>(to_bytes(v[4], inverse), to_bytes(v[5], inverse), to_bytes(v[6], inverse), to_bytes(v[7], inverse));
  return Quantized(lo, hi, largest / 127.0, vec2<i32>(sum_of_bytes(lo), sum_of_bytes(hi)));
}

#if X_PLANES == 2
// What the bytes of a unit leave of it.
fn left_of(v: array<vec4<f32>, 8>, q: Quantized) -> array<vec4<f32>, 8> {
  var left: array<vec4<f32>, 8>;
#for j in 0..4
  left[j] = v[j] - q.scale * vec4<f32>(unpack4xI8(q.lo[j]));
  left[j + 4] = v[j + 4] - q.scale * vec4<f32>(unpack4xI8(q.hi[j]));
#endfor
  return left;
}
#endif

#ifdef B_X
// Elements e .. e + 3 of row m, zeros from COLS on; e is a multiple of 4.
fn load_x(m: u32, e: u32) -> vec4<f32> {
#if COLS % 32 == 0 && X_STRIDE % 4 == 0
  return x[(m * X_STRIDE + e) / 4u];
#elif COLS % 4 == 0 && X_STRIDE % 4 == 0
  if (e >= COLS) { return vec4<f32>(); }
  return x[(m * X_STRIDE + e) / 4u];
#else
  let last = COLS - 1u;
  let at = m * X_STRIDE;
  let v = vec4<f32>(x[at + min(e, last)], x[at + min(e + 1u, last)], x[at + min(e + 2u, last)], x[at + min(e + 3u, last)]);
  return select(vec4<f32>(), v, vec4<u32>(e, e + 1u, e + 2u, e + 3u) < vec4<u32>(COLS));
#endif
}

fn unit_of_x(m: u32, u: u32) -> array<vec4<f32>, 8> {
  var v: array<vec4<f32>, 8>;
#for j in 0..8
  v[j] = load_x(m, u * 32u + 4u * j);
#endfor
  return v;
}
#endif

fn bytes_header(scale: f32, sums: vec2<i32>) -> vec4<f32> {
  return vec4<f32>(scale * vec3<f32>(1.0, f32(sums.x), f32(sums.y)), 0.0);
}

#ifdef B_X8
// Where the halves of a unit and its header lie.
#if X8_BY_UNIT
fn x8_half(m: u32, u: u32, half: u32) -> u32 { return (u * 2u + half) * X8_ROWS + m; }
fn x8_header(m: u32, u: u32) -> u32 { return (UNITS * 2u + u) * X8_ROWS + m; }
#else
fn x8_half(m: u32, u: u32, half: u32) -> u32 { return (m * 2u + half) * UNITS + u; }
fn x8_header(m: u32, u: u32) -> u32 { return (X8_ROWS * 2u + m) * UNITS + u; }
#endif

fn load_bytes(m: u32, u: u32) -> Bytes {
  return Bytes(x8[x8_half(m, u, 0u)], x8[x8_half(m, u, 1u)], bitcast<vec4<f32>>(x8[x8_header(m, u)]));
}
#endif
