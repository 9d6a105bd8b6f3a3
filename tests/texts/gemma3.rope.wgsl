// Head norms, rotary positions and the append to the KV cache (rope.h), one pass over a step's rows.
// Four consecutive elements of a head an invocation, LANES = HEAD_DIM / 4 invocations a head, HEADS heads a workgroup; heads along x
// of the grid (q, then k, then v), rows along y. Every stored u32 has one writer: four elements are whole words in each cache type,
// and one invocation in sixteen writes the word with the two scales of q8_0 and q4_0; of q4_0 every other
// invocation writes eight elements.
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
// cos and sin of position * frequency, right to about 1e-7 at any position, in f32 and u32 alone.
// rope_table() on the host holds each frequency as turns per position, modulo one turn, as a binary fraction of 64 bits (made in
// f64, so its error is 2^-53 of it). position * fraction modulo 2^64 is the exact number of turns with the whole ones gone; its
// upper 32 bits are kept, an angle error of 2^-32 turns. The nearest quarter turn is split off, and what is left, within pi / 4,
// goes through Taylor series, because WGSL allows its own sin and cos an absolute error of 2^-11.

// Upper 32 bits of a * b.
fn multiply_high(a: u32, b: u32) -> u32 {
  let a0 = a & 0xffffu;
  let a1 = a >> 16u;
  let b0 = b & 0xffffu;
  let b1 = b >> 16u;
  let low = a1 * b0 + ((a0 * b0) >> 16u);
  let middle = a0 * b1 + (low & 0xffffu);
  return a1 * b1 + (low >> 16u) + (middle >> 16u);
}

// turns: upper and lower word of the table entry. Returns MAGNITUDE * (cos, sin).
fn turn(position: u32, turns: vec2<u32>) -> vec2<f32> {
  let t = position * turns.x + multiply_high(position, turns.y);
  let quarter = (t + 0x20000000u) >> 30u;
  let angle = f32(bitcast<i32>(t - (quarter << 30u))) * 1.4629180792671596e-9;  // 2 pi / 2^32
  let s = angle * angle;
  let sine = angle * (1.0 + s * (-0.16666667 + s * (0.0083333333 + s * (-1.9841270e-4 + s * 2.7557319e-6))));
  let cosine = 1.0 + s * (-0.5 + s * (0.041666667 + s * (-0.0013888889 + s * 2.4801587e-5)));
  let swapped = select(vec2<f32>(cosine, sine), vec2<f32>(sine, cosine), (quarter & 1u) == 1u);
  // Quarter turns: (c, s), (-s, c), (-c, -s), (s, -c).
  return 1.0 * vec2<f32>(select(swapped.x, -swapped.x, quarter == 1u || quarter == 2u), select(swapped.y, -swapped.y, quarter >= 2u));
}
// The position that a pair turns by: that of its row, and what is added in the coordinate of its section (RopeSections of rope.h).

// What q is multiplied by at a position (Temperature of rope.h).
fn temperature(position: u32) -> f32 {
  return 1.0;
}

@group(0) @binding(0) var<storage, read> step: array<u32>;
@group(0) @binding(2) var<storage, read_write> qkv: array<f32>;
@group(0) @binding(3) var<storage, read_write> q_out: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read> pages: array<u32>;
@group(0) @binding(4) var<storage, read_write> k_cache: array<vec4<f32>>;
@group(0) @binding(5) var<storage, read_write> v_cache: array<vec4<f32>>;
@group(0) @binding(6) var<storage, read> table: array<vec2<u32>>;
@group(0) @binding(7) var<storage, read> norms: array<f32>;
var<workgroup> squares: array<f32, 8 * (16 / 4)>;

// Element d of a head at `base` of qkv, normalised; gamma at `gamma` of norms.
fn element(base: u32, d: u32, inverse: f32, gamma: u32) -> f32 {
  return qkv[base + d] * inverse * norms[gamma + d];
}

@compute @workgroup_size(8 * (16 / 4))
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let lane = local % (16 / 4);
  let wanted_head = workgroup.x * 8 + local / (16 / 4);
  let head = min(wanted_head, (4 + 2 * 2) - 1u);
  let row = workgroup.y;
  let position = step[STEP_POSITIONS + row];
  let base = (row * (4 + 2 * 2) + head) * 16;
  let first = lane * 4u;
  let plain = vec4<f32>(qkv[base + first], qkv[base + first + 1u], qkv[base + first + 2u], qkv[base + first + 3u]);

  squares[local] = dot(plain, plain);
  workgroupBarrier();
  var sum = 0.0;
  for (var i = 0u; i < (16 / 4); i++) {
    sum += squares[local - lane + i];
  }
  let inverse = inverseSqrt(sum / f32(16) + 9.99999975e-06f);
  let gamma = select(0u, u32(16), head >= 4);

  var value = plain;
  if (head < (4 + 2)) {
    {
      let d = first + 0u;
      if (d < 16) {
        let leading = d < 16 / 2;
        let pair = select(d - 16 / 2, d, leading);
        let other = select(d - 16 / 2, d + 16 / 2, leading);
        let angle = turn(position, table[pair]);
        let cross = element(base, other, inverse, gamma) * angle.y;
        value[0] = element(base, d, inverse, gamma) * angle.x + select(cross, -cross, leading);
      } else {
        value[0] = element(base, d, inverse, gamma);
      }
    }
    {
      let d = first + 1u;
      if (d < 16) {
        let leading = d < 16 / 2;
        let pair = select(d - 16 / 2, d, leading);
        let other = select(d - 16 / 2, d + 16 / 2, leading);
        let angle = turn(position, table[pair]);
        let cross = element(base, other, inverse, gamma) * angle.y;
        value[1] = element(base, d, inverse, gamma) * angle.x + select(cross, -cross, leading);
      } else {
        value[1] = element(base, d, inverse, gamma);
      }
    }
    {
      let d = first + 2u;
      if (d < 16) {
        let leading = d < 16 / 2;
        let pair = select(d - 16 / 2, d, leading);
        let other = select(d - 16 / 2, d + 16 / 2, leading);
        let angle = turn(position, table[pair]);
        let cross = element(base, other, inverse, gamma) * angle.y;
        value[2] = element(base, d, inverse, gamma) * angle.x + select(cross, -cross, leading);
      } else {
        value[2] = element(base, d, inverse, gamma);
      }
    }
    {
      let d = first + 3u;
      if (d < 16) {
        let leading = d < 16 / 2;
        let pair = select(d - 16 / 2, d, leading);
        let other = select(d - 16 / 2, d + 16 / 2, leading);
        let angle = turn(position, table[pair]);
        let cross = element(base, other, inverse, gamma) * angle.y;
        value[3] = element(base, d, inverse, gamma) * angle.x + select(cross, -cross, leading);
      } else {
        value[3] = element(base, d, inverse, gamma);
      }
    }
  }

  if (wanted_head < 4) {
    q_out[(row * 4 + head) * (16 / 4) + lane] = value * temperature(position);
  }
  let is_k = wanted_head >= 4 && wanted_head < (4 + 2);
  let is_v = wanted_head >= (4 + 2) && wanted_head < (4 + 2 * 2);
  let kv_head = (max(head, u32(4)) - 4) % 2;
  let page = pages[page_entry(step[STEP_SEQUENCES + row], 8, position)];
  let cache_row = kv_row(page, 2, kv_head, position);
  let word = value;
  if (is_k) {
    k_cache[cache_row * (16 / 4) + lane] = word;
  }
  if (is_v) {
    v_cache[cache_row * (16 / 4) + lane] = word;
  }
}
