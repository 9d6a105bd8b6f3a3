enable f16;
// Few rows of x (COLUMNS of them in a workgroup) times W: every weight is read once and used for all of them.
// A team of LANES invocations takes TEAM_GROUPS groups of four weight rows and walks over K together, a unit of 32 weights (or, for
// float weights, one 16-byte vector) each; sums then go across the team. With B_X: products in f32. Otherwise in int8, with x as bytes
// from scratch (B_X8) or made of B_X by the workgroup itself (X_PROLOGUE), which may also make x from what an RMS norm reads: x * gamma as
// bytes, and the inverse of the root mean square on the sums, where it commutes with all else (B_GAMMA, EPS). With X_SQUARES a product
// before has done all but that last (matvec_handover.wgsl), and with B_NEXT this one does it for those after.
// Formula of a unit of row r: y[r] += s * sum(q * x) + m * sum(x), s and m once or for each half of the unit (quant/planes.wgsl).
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
alias Four = vec4<u32>;
fn load_four(at: u32, r: u32) -> Four { return weights[at]; }
fn of_row(four: Four, r: u32) -> u32 { return four[r]; }

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

// q6_k: x = d * scale * (q - 32), a signed scale of 8 bits for 16 elements, d for 256.
// Planes: q4 [rows][units] vec4; a row each component of a vec4: q2 [groups][units] two vec4 (the top two bits), sc [groups][units / 2] vec4
// of four scales; d4 [groups][blocks] four f16.

struct Group { lo: Four, hi: Four, sc: Four, d: vec2<u32> }

fn load_group(g: u32, r: u32, u: u32) -> Group {
  let at = 2048u + (g * 8u + u) * 2u;
  let sc = load_four(3072u + g * (8u / 2u) + u / 2u, r);
  return Group(load_four(at, r), load_four(at + 1u, r), sc >> Four(16u * (u & 1u)), plane_pair(3328u, g * (8u / 8u) + u / 8u));
}

struct Raw { q: vec4<u32> }
fn load_raw(g: u32, r: u32, u: u32) -> Raw { return Raw(weights[0u + (g * 4u + r) * 8u + u]); }

// The 16 elements of a word of plane q2, at the top of their bytes.
fn top_pairs(word: u32) -> vec4<u32> { return vec4<u32>(word << 6u, word << 4u, word << 2u, word) & vec4<u32>(0xc0c0c0c0u); }

fn unpack(raw: Raw, group: Group, r: u32, u: u32) -> Unit {
  let sc = of_row(group.sc, r);
  // Sign-extended bytes 0 and 1.
  let scale = bitcast<vec2<i32>>(vec2<u32>(sc << 24u, sc << 16u)) >> vec2<u32>(24u);
  // 4 (q - 32).
  let lo = centred(((raw.q << vec4<u32>(2u)) & vec4<u32>(0x3c3c3c3cu)) | top_pairs(of_row(group.lo, r)));
  let hi = centred(((raw.q >> vec4<u32>(2u)) & vec4<u32>(0x3c3c3c3cu)) | top_pairs(of_row(group.hi, r)));
  return Unit(lo, hi, half_of_4(group.d, r) * 0.25 * vec2<f32>(scale), vec2<f32>());
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

@group(0) @binding(2) var<storage, read_write> x: array<vec4<f32>>;

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

// What the bytes of a unit leave of it.
fn left_of(v: array<vec4<f32>, 8>, q: Quantized) -> array<vec4<f32>, 8> {
  var left: array<vec4<f32>, 8>;
  left[0] = v[0] - q.scale * vec4<f32>(unpack4xI8(q.lo[0]));
  left[0 + 4] = v[0 + 4] - q.scale * vec4<f32>(unpack4xI8(q.hi[0]));
  left[1] = v[1] - q.scale * vec4<f32>(unpack4xI8(q.lo[1]));
  left[1 + 4] = v[1 + 4] - q.scale * vec4<f32>(unpack4xI8(q.hi[1]));
  left[2] = v[2] - q.scale * vec4<f32>(unpack4xI8(q.lo[2]));
  left[2 + 4] = v[2 + 4] - q.scale * vec4<f32>(unpack4xI8(q.hi[2]));
  left[3] = v[3] - q.scale * vec4<f32>(unpack4xI8(q.lo[3]));
  left[3 + 4] = v[3 + 4] - q.scale * vec4<f32>(unpack4xI8(q.hi[3]));
  return left;
}

// Elements e .. e + 3 of row m, zeros from COLS on; e is a multiple of 4.
fn load_x(m: u32, e: u32) -> vec4<f32> {
  return x[(m * 256u + e) / 4u];
}

fn unit_of_x(m: u32, u: u32) -> array<vec4<f32>, 8> {
  var v: array<vec4<f32>, 8>;
  v[0] = load_x(m, u * 32u + 4u * 0);
  v[1] = load_x(m, u * 32u + 4u * 1);
  v[2] = load_x(m, u * 32u + 4u * 2);
  v[3] = load_x(m, u * 32u + 4u * 3);
  v[4] = load_x(m, u * 32u + 4u * 4);
  v[5] = load_x(m, u * 32u + 4u * 5);
  v[6] = load_x(m, u * 32u + 4u * 6);
  v[7] = load_x(m, u * 32u + 4u * 7);
  return v;
}

fn bytes_header(scale: f32, sums: vec2<i32>) -> vec4<f32> {
  return vec4<f32>(scale * vec3<f32>(1.0, f32(sums.x), f32(sums.y)), 0.0);
}

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
// A unit of x as bytes by eight neighbouring invocations, four elements each, so that x is read in order. All of a subgroup call it.
struct Eighth {
  words: vec4<u32>,  // in the first invocation of each half: its four words in order
  scale: f32,
  sums: vec2<i32>,  // in the first invocation: of the halves
  left: vec4<f32>,  // what the bytes leave of v
}
fn eighth_of_unit(v: vec4<f32>) -> Eighth {
  let a = magnitudes(v);
  var bits = max(max(a.x, a.y), max(a.z, a.w));
  bits = max(bits, subgroupShuffleXor(bits, 1u));
  bits = max(bits, subgroupShuffleXor(bits, 2u));
  bits = max(bits, subgroupShuffleXor(bits, 4u));
  let largest = bitcast<f32>(bits);
  let word = to_bytes(v, inverse_of_scale(largest));
  let words = vec4<u32>(word, subgroupShuffleXor(word, 1u), subgroupShuffleXor(word, 2u), subgroupShuffleXor(word, 3u));
  let sum = sum_of_bytes(words);
  let sums = vec2<i32>(sum, subgroupShuffleXor(sum, 4u));
  return Eighth(words, largest / 127.0, sums, v - largest / 127.0 * vec4<f32>(unpack4xI8(word)));
}

// Rows of x. Where a batch class has one, no workgroup runs without it, and the first weights need not wait until the step has been read.

const TEAMS = 256 / 32;
const WG_GROUPS = TEAMS * 1;
const N_GROUPS = (256u + 3u) / 4u;
const OUTPUTS = WG_GROUPS * 4u;
const N_OUTPUTS = u32(256u);
// Every invocation finishes one output at most.

// [subgroup][group of the team][column][row]
var<workgroup> partial: array<f32, 256 / 32 * 1 * 1 * 4u>;
// The sums of a group over a subgroup, dealt to its invocations. An invocation comes with 4 * COLUMNS values, [column][row]; at each
// step it keeps half of them, to which it adds the same half of the one it trades with, until one value is left. So eight columns take
// 31 shuffles, where a sum of each by itself takes 160. A value is added up in the same order for any number of columns.
// DEALT_LANES invocations side by side have the same value: [column][row] from the first to the last.

fn dealt_sum(values: array<vec4<f32>, 1>, lane: u32) -> f32 {
  var v = values;
  let by_two = 32 / (2u * 1);
  let in_upper = (lane & by_two) != 0u;
  let two = select(v[0].xy, v[0].zw, in_upper) + subgroupShuffleXor(select(v[0].zw, v[0].xy, in_upper), by_two);
  let is_odd = (lane & (32 / (4u * 1))) != 0u;
  var sum = select(two.x, two.y, is_odd) + subgroupShuffleXor(select(two.y, two.x, is_odd), (32 / (4u * 1)));
  for (var stride = (32 / (4u * 1)) / 2u; stride > 0u; stride /= 2u) { sum += subgroupShuffleXor(sum, stride); }
  return sum;
}

// One row of x as bytes, in each of its planes; the header is kept as scale and two sums of 16 bits to save room.
var<workgroup> own_bytes: array<vec4<u32>, 8u * 2u * 2>;
var<workgroup> own_scales: array<vec2<u32>, 8u * 2>;

fn load_bytes(plane: u32, u: u32) -> Bytes {
  let h = own_scales[plane * 8u + u];
  let sums = bitcast<vec2<i32>>(vec2<u32>(h.y << 16u, h.y)) >> vec2<u32>(16u);
  let at = plane * 2u * 8u + u;
  return Bytes(own_bytes[at], own_bytes[at + 8u], bytes_header(bitcast<f32>(h.x), sums));
}
fn own_scale(scale: f32, low: i32, high: i32) -> vec2<u32> {
  return vec2<u32>(bitcast<u32>(scale), bitcast<u32>((low & 0xffff) | (high << 16u)));
}

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(local_invocation_index) local: u32 , @builtin(subgroup_size) lane_count: u32, @builtin(subgroup_invocation_id) lane: u32) {
  let m_count = 1u;
  let m_first = wid.z * 1;
  let wg_first = (wid.y * 8 + wid.x) * WG_GROUPS;
  let team = local / 32;
  let team_lane = local % 32;
  let team_first = wg_first + team * 1;

  // Rows beyond the last compute what is not stored.
  let m_0 = min(m_first + 0, m_count - 1u);
  let g_0 = min(team_first + 0, N_GROUPS - 1u);
  var acc_0_0 = vec4<f32>();

  // What the end needs is on its way from the start.
  let first_output = wg_first * (OUTPUTS / WG_GROUPS);
  let own_y = y_before(min(m_first, m_count - 1u), min(first_output + local, N_OUTPUTS - 1u));
  var next_group_0 = load_group(g_0, 0u, min(team_lane, 8u - 1u));
  var next_0_0 = load_raw(g_0, 0, min(team_lane, 8u - 1u));
  var next_0_1 = load_raw(g_0, 1, min(team_lane, 8u - 1u));
  var next_0_2 = load_raw(g_0, 2, min(team_lane, 8u - 1u));
  var next_0_3 = load_raw(g_0, 3, min(team_lane, 8u - 1u));
  // Row m_0 of x as bytes into own_bytes and own_scales.
  // Units beyond the last are made again and not kept.
  for (var first = 0u; first < 8u * 8u; first += 256) {
    let i = first + local;
    let u = i / 8u;
    let part = i % 8u;
    let plain = load_x(m_0, min(u, 8u - 1u) * 32u + part * 4u);
    let v = plain;
    let eighth = eighth_of_unit(v);
    if (u < 8u && part % 4u == 0u) { own_bytes[part / 4u * 8u + u] = eighth.words; }
    if (u < 8u && part == 0u) { own_scales[u] = own_scale(eighth.scale, eighth.sums.x, eighth.sums.y); }
    let fine = eighth_of_unit(eighth.left);
    if (u < 8u && part % 4u == 0u) { own_bytes[(2u + part / 4u) * 8u + u] = fine.words; }
    if (u < 8u && part == 0u) { own_scales[8u + u] = own_scale(fine.scale, fine.sums.x, fine.sums.y); }
  }
  workgroupBarrier();

  // Block types, int8 activations: eight dp4a a unit, row and column. With PREFETCH the weights of the next turn, and x where it
  // lies in scratch, are on their way before those of this one are used, the first weights since before x was made bytes; the last turn
  // reads the last unit once more, which costs nothing. WRITTEN_TURNS are all turns of a short K, written out, where the last one reads
  // nothing ahead.
  if (team_lane + 0 * 32 < 8u) {
    let u = team_lane + 0 * 32;
    let x_0_0 = load_bytes(0, u);
    let x_0_1 = load_bytes(1, u);
    {
      let w_0 = unpack(next_0_0, next_group_0, 0, u);
      let w_1 = unpack(next_0_1, next_group_0, 1, u);
      let w_2 = unpack(next_0_2, next_group_0, 2, u);
      let w_3 = unpack(next_0_3, next_group_0, 3, u);
      {
        let lo_0 = dot16(w_0.lo, x_0_0.lo);
        let hi_0 = dot16(w_0.hi, x_0_0.hi);
        let lo_1 = dot16(w_1.lo, x_0_0.lo);
        let hi_1 = dot16(w_1.hi, x_0_0.hi);
        let lo_2 = dot16(w_2.lo, x_0_0.lo);
        let hi_2 = dot16(w_2.hi, x_0_0.hi);
        let lo_3 = dot16(w_3.lo, x_0_0.lo);
        let hi_3 = dot16(w_3.hi, x_0_0.hi);
        acc_0_0 += x_0_0.h.x * (vec4<f32>(w_0.s.x, w_1.s.x, w_2.s.x, w_3.s.x) * vec4<f32>(lo_0, lo_1, lo_2, lo_3) +
                                       vec4<f32>(w_0.s.y, w_1.s.y, w_2.s.y, w_3.s.y) * vec4<f32>(hi_0, hi_1, hi_2, hi_3));
      }
      {
        let lo_0 = dot16(w_0.lo, x_0_1.lo);
        let hi_0 = dot16(w_0.hi, x_0_1.hi);
        let lo_1 = dot16(w_1.lo, x_0_1.lo);
        let hi_1 = dot16(w_1.hi, x_0_1.hi);
        let lo_2 = dot16(w_2.lo, x_0_1.lo);
        let hi_2 = dot16(w_2.hi, x_0_1.hi);
        let lo_3 = dot16(w_3.lo, x_0_1.lo);
        let hi_3 = dot16(w_3.hi, x_0_1.hi);
        acc_0_0 += x_0_1.h.x * (vec4<f32>(w_0.s.x, w_1.s.x, w_2.s.x, w_3.s.x) * vec4<f32>(lo_0, lo_1, lo_2, lo_3) +
                                       vec4<f32>(w_0.s.y, w_1.s.y, w_2.s.y, w_3.s.y) * vec4<f32>(hi_0, hi_1, hi_2, hi_3));
      }
    }
  }

  let subgroup = local / lane_count;
  {
    var sums: array<vec4<f32>, 1>;
    sums[0] = acc_0_0;
    let sum = dealt_sum(sums, lane);
    if (lane % (32 / (4u * 1)) == 0u) { partial[(subgroup * 1 + 0) * 1 * 4u + lane / (32 / (4u * 1))] = sum; }
  }
  workgroupBarrier();
  let parts = 32 / lane_count;  // subgroups of a team

  const inverse_rms = 1.0;
  for (var i = local; i < OUTPUTS * 1; i += 256) {
    let c = i / OUTPUTS;
    let o = i % OUTPUTS;
    if (m_first + c >= m_count) { continue; }
    let sum = team_sum(o / 4u, c, o % 4u, parts) * inverse_rms;
    if (first_output + o < N_OUTPUTS) {  finish_onto(m_first, first_output + o, sum, own_y); }
  }
}

// The sum of a row of a group of the workgroup.
fn team_sum(group: u32, c: u32, row: u32, parts: u32) -> f32 {
  let first = group / 1 * parts;
  var sum = 0.0;
  for (var p = 0u; p < parts; p++) { sum += partial[(((first + p) * 1 + group % 1) * 1 + c) * 4u + row]; }
  return sum;
}
