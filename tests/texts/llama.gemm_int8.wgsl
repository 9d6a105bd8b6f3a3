enable f16;
// Many rows of x times W in tiles, int8: both operands as packed bytes in workgroup memory, products by dp4a, sums in f32.
// 8 x TN invocations, each PARTS * 4 rows of x (eight apart) by eight weight rows (side by side, so that it holds whole gate and up groups);
// K goes by STEP_UNITS units at a time, or SETS of such invocations share it, each taking as many, and add up what they have at the end:
// few tiles, of short prompts, leave a GPU waiting for memory otherwise. A unit adds
//   s * x_scale * sum(q * x) + m * x_scale * sum(x)
// with the integer sums exact. With c = 1.5 * 2^23 and the bits of c + sum, which a chain of dp4a leaves (bits32), s * sum is one
// fma(bits, s, -c * s); where a device's fma rounds twice, sum is off by less than one.
// Filling a tile, neighbours read what lies side by side in memory: units of a weight row, rows of x (X8_BY_UNIT). They store it where
// the products read it without bank conflicts: [unit][half][slot], slot = (row of the invocation) * invocations + invocation. What a step
// stores was requested before the products of the step before it, and waits in registers as it lies in memory.
// The step buffer and the KV cache as kernels read them; step.h describes both, step_test.cpp keeps the numbers equal.
const STEP_ROOM = 2048u;
const PAGE_TOKENS = 32u;

// Word offsets into the step buffer, array<u32>.
const STEP_TOKEN_COUNT = 0u;
const STEP_OUTPUT_COUNT = 1u;
const STEP_SPLIT_COUNT = 2u;
const STEP_SPLIT_TOKENS = 3u;
const STEP_SPLIT_LIMIT = 4u;
const STEP_CHOICES = 5u;
const STEP_GO_ON_COUNT = 6u;
const STEP_SINGLE_COUNT = 7u;
const STEP_ZEROS = 8u;
const STEP_TOKENS = 16u;
const STEP_POSITIONS = 2064u;
const STEP_SEQUENCES = 4112u;
const STEP_OUTPUT_ROWS = 6160u;
const STEP_WORDS = 8208u;

// Index of the page table entry that holds `position` of a sequence (a row of the table).
fn page_entry(sequence: u32, pages_per_sequence: u32, position: u32) -> u32 {
  return sequence * pages_per_sequence + position / PAGE_TOKENS;
}

// Head row of the cache, in units of head_dim elements: the row of `position` lies in slot position % PAGE_TOKENS of its page.
fn kv_row(page: u32, n_kv_heads: u32, head: u32, position: u32) -> u32 {
  return (page * n_kv_heads + head) * PAGE_TOKENS + position % PAGE_TOKENS;
}

// q8_0: word of the scale plane that holds the scales of elements d and (d ^ 32) of a head row; the low half is the even block's.
fn kv_scale_word(row: u32, head_dim: u32, d: u32) -> u32 {
  return row * ((head_dim + 63u) / 64u) + d / 64u;
}

// Added to the end of a loop, by the number of the turn: zero, read anew each turn, so that no compiler can tell how many turns there are. They
// would be written out eight times, and long texts cost time whenever kernels come in turn (docs/decisions/kernel-texts.md). TURNS, below, keeps
// only software adapters from it.

// Turns of a loop. Where compilers of software adapters would unroll it, which takes them many seconds, a number that they cannot see through:
// no step has so many tokens.
// Reading weights from planes (planes.h), whatever their type. The including kernel declares
//   weights: array<vec4<u32>> (read)
// and the host defines WEIGHT_<TYPE>, UNITS (units of a row) and PLANE_<NAME> (start of each plane, in vec4). Each type's file gives
//   WEIGHT_FLOAT 1 (f32, f16, bf16): decode_vec(row, i), the WEIGHT_VEC weights of 16-byte vector i of a row
//   WEIGHT_FLOAT 0 (all others):
//     Group, load_group(g, r, u)   what the rows of group g have side by side at unit u; where it is a Four, perhaps of row r alone
//     Raw, load_raw(g, r, u)       what row r of the group has by itself there, as it lies: few registers while it is on its way
//     unpack(raw, group, r, u)     both as a Unit
//     WEIGHT_SCALES                1: a unit has one scale and min, 2: one for each half
//     WEIGHT_MIN                   0: the min is always zero
// and all have decode_unit(row, u), the 32 weights of a unit exactly as the format defines them.

// 32 weights as signed bytes, four to a word in element order (lo: 0..15, hi: 16..31):
//   weight[i] = s * byte[i] + m, with s.x, m.x for elements 0..15 and s.y, m.y for 16..31.
// Every product is exact in f32; adding m rounds once.
struct Unit {
  lo : vec4<u32>, hi : vec4<u32>, s : vec2<f32>, m : vec2<f32>,
}

// Of a vec4 that is a word for each row of a group: all of it where a kernel takes the four rows together (ROWS_TOGETHER), which is one
// read, else the word of the one row that it takes.
alias Four = u32;
fn load_four(at: u32, r: u32) -> Four { return weights[at][r]; }
fn of_row(four: Four, r: u32) -> u32 { return four; }

// The i-th vec2 of a plane.
fn plane_pair(plane: u32, i: u32) -> vec2<u32> {
  let v = weights[plane + (i >> 1u)];
  return select(v.xy, v.zw, (i & 1u) == 1u);
}

// The r-th of four f16.
fn half_of_4(v : vec2<u32>, r : u32) -> f32 {
  return unpack2x16float(select(v.x, v.y, r > 1u) >> (16u * (r & 1u))).x;
}

// The fifth bits of a unit, in place above its nibbles.
fn fifth_bits_lo(h : u32) -> vec4<u32> {
  return (vec4<u32>(h) << vec4<u32>(4u, 3u, 2u, 1u)) & vec4<u32>(0x10101010u);
}
fn fifth_bits_hi(h : u32) -> vec4<u32> {
  return (vec4<u32>(h) >> vec4<u32>(0u, 1u, 2u, 3u)) & vec4<u32>(0x10101010u);
}

// The same bits at the top of their bytes.
fn top_bits_lo(h : u32) -> vec4<u32> {
  return (vec4<u32>(h) << vec4<u32>(7u, 6u, 5u, 4u)) & vec4<u32>(0x80808080u);
}
fn top_bits_hi(h : u32) -> vec4<u32> {
  return (vec4<u32>(h) << vec4<u32>(3u, 2u, 1u, 0u)) & vec4<u32>(0x80808080u);
}

// The 16 elements of a word of plane q2, as 32 q: a sum of products that is off by one, as an fma that rounds twice may leave it, is off by
// the less.
fn pairs_of(word : u32) -> vec4<u32> { return vec4<u32>(word << 5u, word << 3u, word << 1u, word >> 1u) & vec4<u32>(0x60606060u); }

// Of bytes with n bits q in their upper end, 2^(8 - n) (q - 2^(n - 1)): the topmost bit turned round.
fn centred(v : vec4<u32>) -> vec4<u32> { return v ^ vec4<u32>(0x80808080u); }

fn nibbles_lo(q : vec4<u32>) -> vec4<u32> { return q & vec4<u32>(0x0f0f0f0fu); }
fn nibbles_hi(q : vec4<u32>) -> vec4<u32> { return (q >> vec4<u32>(4u)) & vec4<u32>(0x0f0f0f0fu); }

// q4_k: x = d * scale * q - dmin * min, scale and min (6 bits each) for 32 elements, d and dmin for 256.
// Planes: q4 [rows][units] vec4, hd (k_header.wgsl).
// The 16-byte header of q4_k and q5_k: d and dmin; low nibbles of the 8 scales, of the 8 mins; top two bits of the scales (low half)
// and of the mins. Plane hd [groups][blocks][4 rows] vec4.

fn load_header(g: u32, r: u32, u: u32) -> vec4<u32> { return weights[2048u + (g * (8u / 8u) + u / 8u) * 4u + r]; }

// The scale and min of a unit: x = s * q + m.
fn k_scale_min(hd: vec4<u32>, u: u32) -> vec2<f32> {
  let j = u & 7u;
  let scale = ((hd.y >> (4u * j)) & 15u) | (((hd.w >> (2u * j)) & 3u) << 4u);
  let least = ((hd.z >> (4u * j)) & 15u) | (((hd.w >> (16u + 2u * j)) & 3u) << 4u);
  return unpack2x16float(hd.x) * vec2<f32>(f32(scale), -f32(least));
}

struct Group { unused: u32 }

fn load_group(g: u32, r: u32, u: u32) -> Group { return Group(0u); }

struct Raw { q: vec4<u32>, hd: vec4<u32> }
fn load_raw(g: u32, r: u32, u: u32) -> Raw { return Raw(weights[0u + (g * 4u + r) * 8u + u], load_header(g, r, u)); }

fn unpack(raw: Raw, group: Group, r: u32, u: u32) -> Unit {
  let sm = k_scale_min(raw.hd, u);
  return Unit(nibbles_lo(raw.q), nibbles_hi(raw.q), sm.xx, sm.yy);
}

fn load_unit(group: Group, g: u32, r: u32, u: u32) -> Unit { return unpack(load_raw(g, r, u), group, r, u); }

// A unit of a row on its way.
struct Asked {
  raw : Raw, group : Group,
}
fn ask(row : u32, u : u32) -> Asked { return Asked(load_raw(row / 4u, row % 4u, u), load_group(row / 4u, row % 4u, u)); }
fn arrived(asked : Asked, row : u32, u : u32) -> Unit { return unpack(asked.raw, asked.group, row % 4u, u); }

fn bytes_f32(w : u32) -> vec4<f32> { return vec4<f32>(unpack4xI8(w)); }

fn decode_unit(row : u32, u : u32) -> array<vec4<f32>, 8> { return weights_of(arrived(ask(row, u), row, u)); }

fn weights_of(q : Unit) -> array<vec4<f32>, 8> {
  var w : array<vec4<f32>, 8>;
  w[0] = q.s.x * bytes_f32(q.lo[0]) + q.m.x;
  w[0 + 4] = q.s.y * bytes_f32(q.hi[0]) + q.m.y;
  w[1] = q.s.x * bytes_f32(q.lo[1]) + q.m.x;
  w[1 + 4] = q.s.y * bytes_f32(q.hi[1]) + q.m.y;
  w[2] = q.s.x * bytes_f32(q.lo[2]) + q.m.x;
  w[2 + 4] = q.s.y * bytes_f32(q.hi[2]) + q.m.y;
  w[3] = q.s.x * bytes_f32(q.lo[3]) + q.m.x;
  w[3 + 4] = q.s.y * bytes_f32(q.hi[3]) + q.m.y;
  return w;
}

@group(0) @binding(0) var<storage, read> weights: array<vec4<u32>>;
@group(0) @binding(1) var<storage, read> step: array<u32>;
@group(0) @binding(3) var<storage, read_write> y: array<f32>;
// Activations as the products read them. Includer: COLS, UNITS, and X_STRIDE where rows of x are further apart. B_X binds them as f32,
// B_X8 as the scratch of X8_ROWS rows that quantize.wgsl writes:
//   [row][half][unit] vec4: 16 signed bytes each, then [row][unit] vec4<f32>: scale, scale * sum of the first and second half, and what
//   a norm needs to know of the unit (matvec_handover.wgsl). x[i] is nearly scale * byte[i], where scale = max |x| / 127. With X8_BY_UNIT the
//   rows lie innermost instead, for tiles: [unit][half][row], then [unit][row]. With X_PLANES == 2 a row of x is two rows here, side by
//   side: its bytes, and those of what their rounding left. Products of both are added up.

@group(0) @binding(2) var<storage, read_write> x8: array<vec4<u32>>;

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
  a = max(a, magnitudes(v[1]));
  a = max(a, magnitudes(v[2]));
  a = max(a, magnitudes(v[3]));
  a = max(a, magnitudes(v[4]));
  a = max(a, magnitudes(v[5]));
  a = max(a, magnitudes(v[6]));
  a = max(a, magnitudes(v[7]));
  let largest = bitcast<f32>(max(max(a.x, a.y), max(a.z, a.w)));
  let inverse = inverse_of_scale(largest);
  let lo = vec4<u32>(to_bytes(v[0], inverse), to_bytes(v[1], inverse), to_bytes(v[2], inverse), to_bytes(v[3], inverse));
  let hi = vec4<u32>(to_bytes(v[4], inverse), to_bytes(v[5], inverse), to_bytes(v[6], inverse), to_bytes(v[7], inverse));
  return Quantized(lo, hi, largest / 127.0, vec2<i32>(sum_of_bytes(lo), sum_of_bytes(hi)));
}

fn bytes_header(scale: f32, sums: vec2<i32>) -> vec4<f32> {
  return vec4<f32>(scale * vec3<f32>(1.0, f32(sums.x), f32(sums.y)), 0.0);
}

// Where the halves of a unit and its header lie.
fn x8_half(m: u32, u: u32, half: u32) -> u32 { return (u * 2u + half) * 512u + m; }
fn x8_header(m: u32, u: u32) -> u32 { return (8u * 2u + u) * 512u + m; }

fn load_bytes(m: u32, u: u32) -> Bytes {
  return Bytes(x8[x8_half(m, u, 0u)], x8[x8_half(m, u, 1u)], bitcast<vec4<f32>>(x8[x8_header(m, u)]));
}
// Which rows of x, y and W the rows of a tile stand for.
// What happens to a product before it is stored: y[m, Y_COLUMN + i], rows of Y_STRIDE. First PRODUCT_SCALE * (product + bias), where
// they are given; then ADD, CAP (a softcap), ACTIVATION, GATE (the activation of a gated pair, without bias), or nothing. The functions
// return what y is then.
// Functions that WGSL leaves imprecise or whose overflow it leaves open, written out. All are right to about 1e-7.

// 1 / (1 + exp(-z)); the bound keeps exp finite, and a product with the largest number is 0 below it.
fn sigmoid(z: f32) -> f32 {
  return select(1.0 / (1.0 + exp(min(-z, 80.0))), 0.0, z < -80.0);
}

// Series near zero, where 1 - exp(-2|z|) would cancel.
fn tanh_exact(z: f32) -> f32 {
  let a = min(abs(z), 20.0);
  let t = exp(-2.0 * a);
  let far = (1.0 - t) / (1.0 + t);
  let s = a * a;
  let near = a * (1.0 + s * (-0.33333333 + s * (0.13333333 + s * (-0.053968254 + s * 0.021869488))));
  let magnitude = select(far, near, a < 0.25);
  return select(magnitude, -magnitude, z < 0.0);
}

fn silu(v: f32) -> f32 {
  return v * sigmoid(v);
}

// 0.5 v (1 + tanh(u)) = v sigmoid(2u) with u = sqrt(2 / pi) (v + 0.044715 v^3).
fn gelu_tanh(v: f32) -> f32 {
  return v * sigmoid(1.5957691216 * (v + 0.044715 * v * v * v));
}

fn gelu_quick(v: f32) -> f32 {
  return v * sigmoid(1.702 * v);
}

// v * (normal distribution function of v) by Abramowitz and Stegun 7.1.26, right to 1.5e-7 of |v|: its tail is (a polynomial in
// 1 / (1 + p a)) * exp(-a^2) with a = |v| / sqrt(2).
fn gelu_erf(v: f32) -> f32 {
  let a = min(abs(v) * 0.70710678, 14.0);
  let t = 1.0 / (1.0 + 0.3275911 * a);
  let polynomial = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))));
  let tail = 0.5 * polynomial * exp(-a * a);
  return v * select(1.0 - tail, tail, v < 0.0);
}

fn relu(v: f32) -> f32 {
  return max(v, 0.0);
}

fn relu_squared(v: f32) -> f32 {
  let positive = max(v, 0.0);
  return positive * positive;
}

fn y_before(m: u32, i: u32) -> f32 { return y[m * 256u + 0u + i]; }

fn finish(m: u32, i: u32, product: f32) -> f32 {
  return finish_onto(m, i, product, y_before(m, i));
}

// `before` is what ADD adds to.
fn finish_onto(m: u32, i: u32, product: f32, before: f32) -> f32 {
  let at = m * 256u + 0u + i;
  let value = (product);
  let result = before + value;
  y[at] = result;
  return result;
}

const SET = 8u * 8;
const WG = SET * 2;
const STEP = 1 * 2;
const TILE_M = 32u * 1;
const TILE_N = 8u * 8;
var<workgroup> tile_x: array<vec4<u32>, STEP * 2 * TILE_M>;
var<workgroup> tile_w: array<vec4<u32>, STEP * 2 * TILE_N>;
// Scales and, where the type has mins, the factors of the sums of x: one number or pair for a unit, or for each half.
// The scale of a head of x, or of a weight's with one.
var<workgroup> head_x: array<vec2<f32>, STEP * TILE_M>;
var<workgroup> head_w: array<vec2<f32>, STEP * TILE_N>;

// Whether an item of x is one of the step's.

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let m_count = step[STEP_TOKEN_COUNT];
  let m_first = wid.y * TILE_M;
  let n_first = wid.x * TILE_N;
  let tm = local % 8u;
  let tn = local / 8u % 8;
  let own = local / SET;
  var acc_0_0_0 = 0.0;
  var acc_0_0_1 = 0.0;
  var acc_0_0_2 = 0.0;
  var acc_0_0_3 = 0.0;
  var acc_0_0_4 = 0.0;
  var acc_0_0_5 = 0.0;
  var acc_0_0_6 = 0.0;
  var acc_0_0_7 = 0.0;
  var acc_0_1_0 = 0.0;
  var acc_0_1_1 = 0.0;
  var acc_0_1_2 = 0.0;
  var acc_0_1_3 = 0.0;
  var acc_0_1_4 = 0.0;
  var acc_0_1_5 = 0.0;
  var acc_0_1_6 = 0.0;
  var acc_0_1_7 = 0.0;
  var acc_0_2_0 = 0.0;
  var acc_0_2_1 = 0.0;
  var acc_0_2_2 = 0.0;
  var acc_0_2_3 = 0.0;
  var acc_0_2_4 = 0.0;
  var acc_0_2_5 = 0.0;
  var acc_0_2_6 = 0.0;
  var acc_0_2_7 = 0.0;
  var acc_0_3_0 = 0.0;
  var acc_0_3_1 = 0.0;
  var acc_0_3_2 = 0.0;
  var acc_0_3_3 = 0.0;
  var acc_0_3_4 = 0.0;
  var acc_0_3_5 = 0.0;
  var acc_0_3_6 = 0.0;
  var acc_0_3_7 = 0.0;

  // What this invocation fills in, for the first step. Units beyond the last repeat it and count for nothing.
  let w_unit = local % STEP;
  let w_slot_0 = (0 * WG + local) / STEP;
  let n_0 = min(n_first + w_slot_0 % 8 * 8u + w_slot_0 / 8, 256u - 1u);
  var next_w_0 = ask(n_0, min(w_unit, 8u - 1u));
  let x_unit_0 = (0 * WG + local) / TILE_M;
  let x_slot_0 = (0 * WG + local) % TILE_M;
  let m_0 = min(m_first + x_slot_0, m_count - 1u);
  var next_x_0: Bytes;
  if (x_unit_0 < STEP) { next_x_0 = load_bytes(m_0, min(x_unit_0, 8u - 1u)); }

  for (var first = 0u; first < 8u; first += STEP) {
    {
      let w = arrived(next_w_0, n_0, min(first + w_unit, 8u - 1u));
      let at = w_unit * TILE_N + w_slot_0;
      tile_w[at + w_unit * TILE_N] = w.lo;
      tile_w[at + (w_unit + 1u) * TILE_N] = w.hi;
      head_w[at] = vec2<f32>(w.s.x, w.m.x) * select(0.0, 1.0, first + w_unit < 8u);
    }
    if (x_unit_0 < STEP) {
      tile_x[x_unit_0 * 2u * TILE_M + x_slot_0] = next_x_0.lo;
      tile_x[(x_unit_0 * 2u + 1u) * TILE_M + x_slot_0] = next_x_0.hi;
      head_x[x_unit_0 * TILE_M + x_slot_0] = vec2<f32>(next_x_0.h.x, next_x_0.h.y + next_x_0.h.z);
    }
    workgroupBarrier();
    let next = first + STEP;
    next_w_0 = ask(n_0, min(next + w_unit, 8u - 1u));
    if (x_unit_0 < STEP) { next_x_0 = load_bytes(m_0, min(next + x_unit_0, 8u - 1u)); }
    {
      let s = own * 1 + 0;
      // Four rows of x at a time: registers for all, and for what is on its way, would be too many.
      {
        let lo_0 = tile_x[(s * 2u) * TILE_M + (0 * 4 + 0) * 8u + tm];
        let hi_0 = tile_x[(s * 2u + 1u) * TILE_M + (0 * 4 + 0) * 8u + tm];
        let h_0 = head_x[s * TILE_M + (0 * 4 + 0) * 8u + tm];
        let lo_1 = tile_x[(s * 2u) * TILE_M + (0 * 4 + 1) * 8u + tm];
        let hi_1 = tile_x[(s * 2u + 1u) * TILE_M + (0 * 4 + 1) * 8u + tm];
        let h_1 = head_x[s * TILE_M + (0 * 4 + 1) * 8u + tm];
        let lo_2 = tile_x[(s * 2u) * TILE_M + (0 * 4 + 2) * 8u + tm];
        let hi_2 = tile_x[(s * 2u + 1u) * TILE_M + (0 * 4 + 2) * 8u + tm];
        let h_2 = head_x[s * TILE_M + (0 * 4 + 2) * 8u + tm];
        let lo_3 = tile_x[(s * 2u) * TILE_M + (0 * 4 + 3) * 8u + tm];
        let hi_3 = tile_x[(s * 2u + 1u) * TILE_M + (0 * 4 + 3) * 8u + tm];
        let h_3 = head_x[s * TILE_M + (0 * 4 + 3) * 8u + tm];
        {
          let w_lo = tile_w[(s * 2u) * TILE_N + 0 * 8 + tn];
          let w_hi = tile_w[(s * 2u + 1u) * TILE_N + 0 * 8 + tn];
          let head = head_w[s * TILE_N + 0 * 8 + tn];
          let zero = -SUM_FLOAT * head.x;
          acc_0_0_0 = fma(fma(bits32(lo_0, hi_0, w_lo, w_hi), head.x, zero), h_0.x, acc_0_0_0);
          acc_0_0_0 += head.y * h_0.y;
          acc_0_1_0 = fma(fma(bits32(lo_1, hi_1, w_lo, w_hi), head.x, zero), h_1.x, acc_0_1_0);
          acc_0_1_0 += head.y * h_1.y;
          acc_0_2_0 = fma(fma(bits32(lo_2, hi_2, w_lo, w_hi), head.x, zero), h_2.x, acc_0_2_0);
          acc_0_2_0 += head.y * h_2.y;
          acc_0_3_0 = fma(fma(bits32(lo_3, hi_3, w_lo, w_hi), head.x, zero), h_3.x, acc_0_3_0);
          acc_0_3_0 += head.y * h_3.y;
        }
        {
          let w_lo = tile_w[(s * 2u) * TILE_N + 1 * 8 + tn];
          let w_hi = tile_w[(s * 2u + 1u) * TILE_N + 1 * 8 + tn];
          let head = head_w[s * TILE_N + 1 * 8 + tn];
          let zero = -SUM_FLOAT * head.x;
          acc_0_0_1 = fma(fma(bits32(lo_0, hi_0, w_lo, w_hi), head.x, zero), h_0.x, acc_0_0_1);
          acc_0_0_1 += head.y * h_0.y;
          acc_0_1_1 = fma(fma(bits32(lo_1, hi_1, w_lo, w_hi), head.x, zero), h_1.x, acc_0_1_1);
          acc_0_1_1 += head.y * h_1.y;
          acc_0_2_1 = fma(fma(bits32(lo_2, hi_2, w_lo, w_hi), head.x, zero), h_2.x, acc_0_2_1);
          acc_0_2_1 += head.y * h_2.y;
          acc_0_3_1 = fma(fma(bits32(lo_3, hi_3, w_lo, w_hi), head.x, zero), h_3.x, acc_0_3_1);
          acc_0_3_1 += head.y * h_3.y;
        }
        {
          let w_lo = tile_w[(s * 2u) * TILE_N + 2 * 8 + tn];
          let w_hi = tile_w[(s * 2u + 1u) * TILE_N + 2 * 8 + tn];
          let head = head_w[s * TILE_N + 2 * 8 + tn];
          let zero = -SUM_FLOAT * head.x;
          acc_0_0_2 = fma(fma(bits32(lo_0, hi_0, w_lo, w_hi), head.x, zero), h_0.x, acc_0_0_2);
          acc_0_0_2 += head.y * h_0.y;
          acc_0_1_2 = fma(fma(bits32(lo_1, hi_1, w_lo, w_hi), head.x, zero), h_1.x, acc_0_1_2);
          acc_0_1_2 += head.y * h_1.y;
          acc_0_2_2 = fma(fma(bits32(lo_2, hi_2, w_lo, w_hi), head.x, zero), h_2.x, acc_0_2_2);
          acc_0_2_2 += head.y * h_2.y;
          acc_0_3_2 = fma(fma(bits32(lo_3, hi_3, w_lo, w_hi), head.x, zero), h_3.x, acc_0_3_2);
          acc_0_3_2 += head.y * h_3.y;
        }
        {
          let w_lo = tile_w[(s * 2u) * TILE_N + 3 * 8 + tn];
          let w_hi = tile_w[(s * 2u + 1u) * TILE_N + 3 * 8 + tn];
          let head = head_w[s * TILE_N + 3 * 8 + tn];
          let zero = -SUM_FLOAT * head.x;
          acc_0_0_3 = fma(fma(bits32(lo_0, hi_0, w_lo, w_hi), head.x, zero), h_0.x, acc_0_0_3);
          acc_0_0_3 += head.y * h_0.y;
          acc_0_1_3 = fma(fma(bits32(lo_1, hi_1, w_lo, w_hi), head.x, zero), h_1.x, acc_0_1_3);
          acc_0_1_3 += head.y * h_1.y;
          acc_0_2_3 = fma(fma(bits32(lo_2, hi_2, w_lo, w_hi), head.x, zero), h_2.x, acc_0_2_3);
          acc_0_2_3 += head.y * h_2.y;
          acc_0_3_3 = fma(fma(bits32(lo_3, hi_3, w_lo, w_hi), head.x, zero), h_3.x, acc_0_3_3);
          acc_0_3_3 += head.y * h_3.y;
        }
        {
          let w_lo = tile_w[(s * 2u) * TILE_N + 4 * 8 + tn];
          let w_hi = tile_w[(s * 2u + 1u) * TILE_N + 4 * 8 + tn];
          let head = head_w[s * TILE_N + 4 * 8 + tn];
          let zero = -SUM_FLOAT * head.x;
          acc_0_0_4 = fma(fma(bits32(lo_0, hi_0, w_lo, w_hi), head.x, zero), h_0.x, acc_0_0_4);
          acc_0_0_4 += head.y * h_0.y;
          acc_0_1_4 = fma(fma(bits32(lo_1, hi_1, w_lo, w_hi), head.x, zero), h_1.x, acc_0_1_4);
          acc_0_1_4 += head.y * h_1.y;
          acc_0_2_4 = fma(fma(bits32(lo_2, hi_2, w_lo, w_hi), head.x, zero), h_2.x, acc_0_2_4);
          acc_0_2_4 += head.y * h_2.y;
          acc_0_3_4 = fma(fma(bits32(lo_3, hi_3, w_lo, w_hi), head.x, zero), h_3.x, acc_0_3_4);
          acc_0_3_4 += head.y * h_3.y;
        }
        {
          let w_lo = tile_w[(s * 2u) * TILE_N + 5 * 8 + tn];
          let w_hi = tile_w[(s * 2u + 1u) * TILE_N + 5 * 8 + tn];
          let head = head_w[s * TILE_N + 5 * 8 + tn];
          let zero = -SUM_FLOAT * head.x;
          acc_0_0_5 = fma(fma(bits32(lo_0, hi_0, w_lo, w_hi), head.x, zero), h_0.x, acc_0_0_5);
          acc_0_0_5 += head.y * h_0.y;
          acc_0_1_5 = fma(fma(bits32(lo_1, hi_1, w_lo, w_hi), head.x, zero), h_1.x, acc_0_1_5);
          acc_0_1_5 += head.y * h_1.y;
          acc_0_2_5 = fma(fma(bits32(lo_2, hi_2, w_lo, w_hi), head.x, zero), h_2.x, acc_0_2_5);
          acc_0_2_5 += head.y * h_2.y;
          acc_0_3_5 = fma(fma(bits32(lo_3, hi_3, w_lo, w_hi), head.x, zero), h_3.x, acc_0_3_5);
          acc_0_3_5 += head.y * h_3.y;
        }
        {
          let w_lo = tile_w[(s * 2u) * TILE_N + 6 * 8 + tn];
          let w_hi = tile_w[(s * 2u + 1u) * TILE_N + 6 * 8 + tn];
          let head = head_w[s * TILE_N + 6 * 8 + tn];
          let zero = -SUM_FLOAT * head.x;
          acc_0_0_6 = fma(fma(bits32(lo_0, hi_0, w_lo, w_hi), head.x, zero), h_0.x, acc_0_0_6);
          acc_0_0_6 += head.y * h_0.y;
          acc_0_1_6 = fma(fma(bits32(lo_1, hi_1, w_lo, w_hi), head.x, zero), h_1.x, acc_0_1_6);
          acc_0_1_6 += head.y * h_1.y;
          acc_0_2_6 = fma(fma(bits32(lo_2, hi_2, w_lo, w_hi), head.x, zero), h_2.x, acc_0_2_6);
          acc_0_2_6 += head.y * h_2.y;
          acc_0_3_6 = fma(fma(bits32(lo_3, hi_3, w_lo, w_hi), head.x, zero), h_3.x, acc_0_3_6);
          acc_0_3_6 += head.y * h_3.y;
        }
        {
          let w_lo = tile_w[(s * 2u) * TILE_N + 7 * 8 + tn];
          let w_hi = tile_w[(s * 2u + 1u) * TILE_N + 7 * 8 + tn];
          let head = head_w[s * TILE_N + 7 * 8 + tn];
          let zero = -SUM_FLOAT * head.x;
          acc_0_0_7 = fma(fma(bits32(lo_0, hi_0, w_lo, w_hi), head.x, zero), h_0.x, acc_0_0_7);
          acc_0_0_7 += head.y * h_0.y;
          acc_0_1_7 = fma(fma(bits32(lo_1, hi_1, w_lo, w_hi), head.x, zero), h_1.x, acc_0_1_7);
          acc_0_1_7 += head.y * h_1.y;
          acc_0_2_7 = fma(fma(bits32(lo_2, hi_2, w_lo, w_hi), head.x, zero), h_2.x, acc_0_2_7);
          acc_0_2_7 += head.y * h_2.y;
          acc_0_3_7 = fma(fma(bits32(lo_3, hi_3, w_lo, w_hi), head.x, zero), h_3.x, acc_0_3_7);
          acc_0_3_7 += head.y * h_3.y;
        }
      }
    }
    workgroupBarrier();
  }

  // Row i of every invocation's parts is added up by set i % SETS, which finishes it.
  {
    let turn = (own + 2 - 0 % 2) % 2;
    let at = (turn * SET + local % SET - SET) * 2u;
    if (turn > 0u) {
      tile_w[at] = bitcast<vec4<u32>>(vec4<f32>(acc_0_0_0, acc_0_0_1, acc_0_0_2, acc_0_0_3));
      tile_w[at + 1u] = bitcast<vec4<u32>>(vec4<f32>(acc_0_0_4, acc_0_0_5, acc_0_0_6, acc_0_0_7));
    }
    workgroupBarrier();
    if (turn == 0u) {
      for (var other = 0u; other < 2 - 1u; other++) {
        let there = (other * SET + local % SET) * 2u;
        let low = bitcast<vec4<f32>>(tile_w[there]);
        let high = bitcast<vec4<f32>>(tile_w[there + 1u]);
        acc_0_0_0 += low[0];
        acc_0_0_1 += low[1];
        acc_0_0_2 += low[2];
        acc_0_0_3 += low[3];
        acc_0_0_4 += high[4 - 4];
        acc_0_0_5 += high[5 - 4];
        acc_0_0_6 += high[6 - 4];
        acc_0_0_7 += high[7 - 4];
      }
    }
    workgroupBarrier();
  }
  {
    let turn = (own + 2 - 1 % 2) % 2;
    let at = (turn * SET + local % SET - SET) * 2u;
    if (turn > 0u) {
      tile_w[at] = bitcast<vec4<u32>>(vec4<f32>(acc_0_1_0, acc_0_1_1, acc_0_1_2, acc_0_1_3));
      tile_w[at + 1u] = bitcast<vec4<u32>>(vec4<f32>(acc_0_1_4, acc_0_1_5, acc_0_1_6, acc_0_1_7));
    }
    workgroupBarrier();
    if (turn == 0u) {
      for (var other = 0u; other < 2 - 1u; other++) {
        let there = (other * SET + local % SET) * 2u;
        let low = bitcast<vec4<f32>>(tile_w[there]);
        let high = bitcast<vec4<f32>>(tile_w[there + 1u]);
        acc_0_1_0 += low[0];
        acc_0_1_1 += low[1];
        acc_0_1_2 += low[2];
        acc_0_1_3 += low[3];
        acc_0_1_4 += high[4 - 4];
        acc_0_1_5 += high[5 - 4];
        acc_0_1_6 += high[6 - 4];
        acc_0_1_7 += high[7 - 4];
      }
    }
    workgroupBarrier();
  }
  {
    let turn = (own + 2 - 2 % 2) % 2;
    let at = (turn * SET + local % SET - SET) * 2u;
    if (turn > 0u) {
      tile_w[at] = bitcast<vec4<u32>>(vec4<f32>(acc_0_2_0, acc_0_2_1, acc_0_2_2, acc_0_2_3));
      tile_w[at + 1u] = bitcast<vec4<u32>>(vec4<f32>(acc_0_2_4, acc_0_2_5, acc_0_2_6, acc_0_2_7));
    }
    workgroupBarrier();
    if (turn == 0u) {
      for (var other = 0u; other < 2 - 1u; other++) {
        let there = (other * SET + local % SET) * 2u;
        let low = bitcast<vec4<f32>>(tile_w[there]);
        let high = bitcast<vec4<f32>>(tile_w[there + 1u]);
        acc_0_2_0 += low[0];
        acc_0_2_1 += low[1];
        acc_0_2_2 += low[2];
        acc_0_2_3 += low[3];
        acc_0_2_4 += high[4 - 4];
        acc_0_2_5 += high[5 - 4];
        acc_0_2_6 += high[6 - 4];
        acc_0_2_7 += high[7 - 4];
      }
    }
    workgroupBarrier();
  }
  {
    let turn = (own + 2 - 3 % 2) % 2;
    let at = (turn * SET + local % SET - SET) * 2u;
    if (turn > 0u) {
      tile_w[at] = bitcast<vec4<u32>>(vec4<f32>(acc_0_3_0, acc_0_3_1, acc_0_3_2, acc_0_3_3));
      tile_w[at + 1u] = bitcast<vec4<u32>>(vec4<f32>(acc_0_3_4, acc_0_3_5, acc_0_3_6, acc_0_3_7));
    }
    workgroupBarrier();
    if (turn == 0u) {
      for (var other = 0u; other < 2 - 1u; other++) {
        let there = (other * SET + local % SET) * 2u;
        let low = bitcast<vec4<f32>>(tile_w[there]);
        let high = bitcast<vec4<f32>>(tile_w[there + 1u]);
        acc_0_3_0 += low[0];
        acc_0_3_1 += low[1];
        acc_0_3_2 += low[2];
        acc_0_3_3 += low[3];
        acc_0_3_4 += high[4 - 4];
        acc_0_3_5 += high[5 - 4];
        acc_0_3_6 += high[6 - 4];
        acc_0_3_7 += high[7 - 4];
      }
    }
    workgroupBarrier();
  }
  let n = n_first + tn * 8u;
  {
    let m = m_first + (0 * 4 + 0) * 8u + tm;
    if (m < m_count && own == 0 % 2) {
      let low = vec4<f32>(acc_0_0_0, acc_0_0_1, acc_0_0_2, acc_0_0_3);
      let high = vec4<f32>(acc_0_0_4, acc_0_0_5, acc_0_0_6, acc_0_0_7);
      for (var j = 0u; j < 8u && n + j < 256u; j++) { finish(m, n + j, select(low, high, j >= 4u)[j % 4u]); }
    }
  }
  {
    let m = m_first + (0 * 4 + 1) * 8u + tm;
    if (m < m_count && own == 1 % 2) {
      let low = vec4<f32>(acc_0_1_0, acc_0_1_1, acc_0_1_2, acc_0_1_3);
      let high = vec4<f32>(acc_0_1_4, acc_0_1_5, acc_0_1_6, acc_0_1_7);
      for (var j = 0u; j < 8u && n + j < 256u; j++) { finish(m, n + j, select(low, high, j >= 4u)[j % 4u]); }
    }
  }
  {
    let m = m_first + (0 * 4 + 2) * 8u + tm;
    if (m < m_count && own == 2 % 2) {
      let low = vec4<f32>(acc_0_2_0, acc_0_2_1, acc_0_2_2, acc_0_2_3);
      let high = vec4<f32>(acc_0_2_4, acc_0_2_5, acc_0_2_6, acc_0_2_7);
      for (var j = 0u; j < 8u && n + j < 256u; j++) { finish(m, n + j, select(low, high, j >= 4u)[j % 4u]); }
    }
  }
  {
    let m = m_first + (0 * 4 + 3) * 8u + tm;
    if (m < m_count && own == 3 % 2) {
      let low = vec4<f32>(acc_0_3_0, acc_0_3_1, acc_0_3_2, acc_0_3_3);
      let high = vec4<f32>(acc_0_3_4, acc_0_3_5, acc_0_3_6, acc_0_3_7);
      for (var j = 0u; j < 8u && n + j < 256u; j++) { finish(m, n + j, select(low, high, j >= 4u)[j % 4u]); }
    }
  }
}
