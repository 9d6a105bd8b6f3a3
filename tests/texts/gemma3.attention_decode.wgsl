// Attention of a few rows over a long cache (attention.h), split over the KV length as Flash-Decoding does.
// A workgroup takes one KV head, one split and one row, and all query heads of that KV head (HEADS at a time), so K and V are read
// once. LANES invocations share a key, each holding STEPS units of the head in registers (q, the accumulators); GROUPS such groups run
// over the keys with a softmax of their own, KEYS keys at a time so that many loads are in flight, and are merged at the end.
// The result is divided by the sum and kept (results.wgsl) when the step has one split, else kept with its maximum and sum in scratch for
// attention_combine.wgsl. Scores and sums are f32 whatever the cache type.
// WHOLE: a step has one split.
// With KV_APPEND the row brings its raw q, k and v (append.wgsl): the workgroups of the last split use the new key last, from registers,
// and one of them per KV head puts it into the cache.
// Reads of the paged KV cache in units of UNIT_ELEMENTS consecutive elements of a head row (8, or 4 where HEAD_DIM does not divide
// by 8), decoded to f32. A unit of f16 is one 16-byte load, of f32 two, of q8_0 8 bytes and a scale word, of
// q4_0 4 bytes and a scale word.
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

@group(0) @binding(3) var<storage, read> k_cache: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read> v_cache: array<vec4<f32>>;

// With units of four elements `high` stays zero.
struct Unit {
  low: vec4<f32>,
  high: vec4<f32>,
}

fn halves(w: vec2<u32>) -> vec4<f32> {
  return vec4<f32>(unpack2x16float(w.x), unpack2x16float(w.y));
}

// A unit as it lies in the cache: its words and, of block types, the word with its scale.

fn fetch_k(row: u32, unit: u32) -> Unit {
  let i = (row * (16 / 8) + unit) * 2u;
  return Unit(k_cache[i], k_cache[i + 1u]);
}
fn fetch_v(row: u32, unit: u32) -> Unit {
  let i = (row * (16 / 8) + unit) * 2u;
  return Unit(v_cache[i], v_cache[i + 1u]);
}

fn decoded(w: Unit, unit: u32) -> Unit {
  return w;
}

fn k_unit(row: u32, unit: u32) -> Unit { return decoded(fetch_k(row, unit), unit); }
fn v_unit(row: u32, unit: u32) -> Unit { return decoded(fetch_v(row, unit), unit); }

@group(0) @binding(0) var<storage, read> step: array<u32>;
@group(0) @binding(1) var<storage, read> pages: array<u32>;
@group(0) @binding(5) var<storage, read_write> q: array<vec4<f32>>;
// [MAX_ROWS, N_HEADS, MAX_SPLITS, V_VECTORS] sums, then [MAX_ROWS, N_HEADS, MAX_SPLITS] (maximum, sum, -, -).
@group(0) @binding(6) var<storage, read_write> scratch: array<vec4<f32>>;

// Where the result of a row and head goes, four elements at a time: [row][head][V_VECTORS] in f32, or with HANDS_BYTES as the int8 that the
// product after it reads (matmul/activations.wgsl). For bytes eight neighbouring invocations bring a unit of 32 elements, in order.
@group(0) @binding(2) var<storage, read_write> out: array<vec4<f32>>;

fn keep_result(row_head: u32, vector: u32, result: vec4<f32>) { out[row_head * (16 / 4) + vector] = result; }
// Which positions a row attends to, and how a step's splits divide them.
const LOWEST = -1.0e30;  // below every score; its differences and exponentials stay finite

// The first position that a row at `position` sees.
fn first_visible(position: u32) -> u32 {
  return select(0u, position + 1u - 24, position + 1u > 24);
}

// The same of a row of the step, and the last: its own position, unless it sees rows around it too. FIRST_OF_RUN is the first that any
// of several rows sees, of their lowest position, or what they see first where that is known already.

// Positions of each split of a row that sees n: an even share, whole pages, none below the step's least.
fn split_share(n: u32) -> u32 {
  let even = (n + step[STEP_SPLIT_COUNT] - 1u) / step[STEP_SPLIT_COUNT];
  return max(step[STEP_SPLIT_TOKENS], (even + PAGE_TOKENS - 1u) / PAGE_TOKENS * PAGE_TOKENS);
}

// ALiBi (attention.h): what a head's slope takes off the score of a key; nothing without ALIBI.
// Biases by distance (attention.h): what a head adds to the score of a key; nothing without B_BIASES.

var<workgroup> group_stats: array<vec2<f32>, (128 / 2) * 2>;  // maximum and sum of each group
var<workgroup> stats: array<vec2<f32>, 2>;                 // of the workgroup
var<workgroup> sums: array<vec4<f32>, 2 * (128 / 2) * (16 / 4)>;
var<workgroup> partial: array<f32, 2 * 1 * 128>;

// Four elements of a query head times the scale of the scores; zero beyond the head.
fn query(row: u32, head: u32, unit: u32, half: u32) -> vec4<f32> {
  let v = unit * (8 / 4) + half;
  return select(vec4<f32>(), q[(row * 4 + head) * (16 / 4) + min(v, (16 / 4) - 1u)] * 0.25f, v < (16 / 4));
}

@compute @workgroup_size(128)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let kv_head = workgroup.x / ((2 + 2 - 1) / 2);
  let chunk = workgroup.x % ((2 + 2 - 1) / 2);
  let row = workgroup.z;
  let group = local / 2;
  let lane = local % 2;
  let unit_0 = min(lane + 0 * 2, (16 / 8) - 1u);
  let in_head_0 = lane + 0 * 2 < (16 / 8);
  let head_0 = kv_head * 2 + min(chunk * 2 + 0, 2 - 1u);
  let head_1 = kv_head * 2 + min(chunk * 2 + 1, 2 - 1u);

  let position = step[STEP_POSITIONS + row];
  let sequence = step[STEP_SEQUENCES + row];
  let begin = first_visible(position);
  let split = workgroup.y;
  let whole = step[STEP_SPLIT_COUNT] == 1u;
  let share = split_share(position + 1u - begin);
  let first = begin + split * share;
  let last = min(position + 1u, first + share);
  if (first >= last) {
    return;
  }
  let table = sequence * 8;

  let kept = last;
  // Keys beyond the end repeat the last one and count for nothing.
  let end = max(kept, 1u) - 1u;
  let row_0 = kv_row(pages[table + min(first + 0 * (128 / 2) + group, end) / PAGE_TOKENS], 2, kv_head, min(first + 0 * (128 / 2) + group, end));
  var next_page_0 = pages[table + min(first + (0 + 1) * (128 / 2) + group, end) / PAGE_TOKENS];
  var next_k_0_0 = fetch_k(row_0, min(lane + 0 * 2, (16 / 8) - 1u));
  var next_v_0_0 = fetch_v(row_0, min(lane + 0 * 2, (16 / 8) - 1u));

  var maximum_0 = LOWEST;
  var sum_0 = 0.0;
  let q_0_0 = Unit(query(row, head_0, lane + 0 * 2, 0u), query(row, head_0, lane + 0 * 2, (8 / 4) - 1u));
  var low_0_0 = vec4<f32>();
  var high_0_0 = vec4<f32>();
  var maximum_1 = LOWEST;
  var sum_1 = 0.0;
  let q_1_0 = Unit(query(row, head_1, lane + 0 * 2, 0u), query(row, head_1, lane + 0 * 2, (8 / 4) - 1u));
  var low_1_0 = vec4<f32>();
  var high_1_0 = vec4<f32>();

  for (var base = first; base < kept; base += (128 / 2) * 1) {
    let key_0 = base + 0 * (128 / 2) + group;
    let k_0_0 = decoded(next_k_0_0, unit_0);
    let raw_v_0_0 = next_v_0_0;
    // The next turn's are on their way before this turn's are used, and the page after them.
    let row_0 = kv_row(next_page_0, 2, kv_head, min(key_0 + (128 / 2) * 1, end));
    next_page_0 = pages[table + min(key_0 + 2u * (128 / 2) * 1, end) / PAGE_TOKENS];
    next_k_0_0 = fetch_k(row_0, unit_0);
    next_v_0_0 = fetch_v(row_0, unit_0);
    var score_0_0 = 0.0;
    score_0_0 += dot(q_0_0.low, k_0_0.low) + dot(q_0_0.high, k_0_0.high);
    var score_0_1 = 0.0;
    score_0_1 += dot(q_1_0.low, k_0_0.low) + dot(q_1_0.high, k_0_0.high);

    // The sum over a key's lanes.
    partial[(0 * 2 + 0) * 128 + local] = score_0_0;
    partial[(0 * 2 + 1) * 128 + local] = score_0_1;
    workgroupBarrier();
    score_0_0 = 0.0;
    for (var i = 0u; i < 2; i++) {
      score_0_0 += partial[(0 * 2 + 0) * 128 + group * 2 + i];
    }
    score_0_1 = 0.0;
    for (var i = 0u; i < 2; i++) {
      score_0_1 += partial[(0 * 2 + 1) * 128 + group * 2 + i];
    }
    workgroupBarrier();

    {
      var highest = maximum_0;
      highest = max(highest, select(LOWEST, score_0_0, key_0 < kept));
      let shrink = exp(maximum_0 - highest);
      maximum_0 = highest;
      sum_0 *= shrink;
      low_0_0 *= shrink;
      high_0_0 *= shrink;
      let weight_0 = select(0.0, exp(score_0_0 - highest), key_0 < kept);
      sum_0 += weight_0;
      let v_0_0 = decoded(raw_v_0_0, unit_0);
      low_0_0 += weight_0 * v_0_0.low;
      high_0_0 += weight_0 * v_0_0.high;
    }
    {
      var highest = maximum_1;
      highest = max(highest, select(LOWEST, score_0_1, key_0 < kept));
      let shrink = exp(maximum_1 - highest);
      maximum_1 = highest;
      sum_1 *= shrink;
      low_1_0 *= shrink;
      high_1_0 *= shrink;
      let weight_0 = select(0.0, exp(score_0_1 - highest), key_0 < kept);
      sum_1 += weight_0;
      let v_0_0 = decoded(raw_v_0_0, unit_0);
      low_1_0 += weight_0 * v_0_0.low;
      high_1_0 += weight_0 * v_0_0.high;
    }
  }

  // Merge the groups: one maximum a head, sums scaled to it.
  if (lane == 0u) {
    group_stats[group * 2 + 0] = vec2<f32>(maximum_0, sum_0);
    group_stats[group * 2 + 1] = vec2<f32>(maximum_1, sum_1);
  }
  workgroupBarrier();
  if (local < 2) {
    var highest = LOWEST;
    for (var g = 0u; g < (128 / 2); g++) {
      highest = max(highest, group_stats[g * 2 + local].x);
    }
    var sum = 0.0;
    for (var g = 0u; g < (128 / 2); g++) {
      let s = group_stats[g * 2 + local];
      sum += s.y * exp(s.x - highest);
    }
    stats[local] = vec2<f32>(highest, sum);
  }
  workgroupBarrier();

  // Add up the groups' sums, MERGED heads at a time through workgroup memory, and store them.
  {
    let scale = exp(maximum_0 - stats[0].x);
    if (lane + 0 * 2 < (16 / 8)) {
      let at = ((0 % 2) * (128 / 2) + group) * (16 / 4) + (lane + 0 * 2) * (8 / 4);
      sums[at] = low_0_0 * scale;
      sums[at + 1u] = high_0_0 * scale;
    }
  }
  {
    let scale = exp(maximum_1 - stats[1].x);
    if (lane + 0 * 2 < (16 / 8)) {
      let at = ((1 % 2) * (128 / 2) + group) * (16 / 4) + (lane + 0 * 2) * (8 / 4);
      sums[at] = low_1_0 * scale;
      sums[at + 1u] = high_1_0 * scale;
    }
  }
  workgroupBarrier();
  for (var i = local; i < (1 % 2 + 1) * (16 / 4); i += 128) {
    let merged = i / (16 / 4);
    let vector = i % (16 / 4);
    var sum = vec4<f32>();
    for (var g = 0u; g < (128 / 2); g++) {
      sum += sums[(merged * (128 / 2) + g) * (16 / 4) + vector];
    }
    let in_group = chunk * 2 + (1 - 1 % 2) + merged;
    let row_head = row * 4 + kv_head * 2 + in_group;
    if (in_group < 2) {
      if (whole) {
        keep_result(row_head, vector, sum / stats[(1 - 1 % 2) + merged].y);
      } else {
        scratch[(row_head * 64 + split) * (16 / 4) + vector] = sum;
      }
    }
  }
  workgroupBarrier();
  let in_group = chunk * 2 + local;
  if (!whole && local < 2 && in_group < 2) {
    let row_head = row * 4 + kv_head * 2 + in_group;
    scratch[1 * 4 * 64 * (16 / 4) + row_head * 64 + split] = vec4<f32>(stats[local], 0.0, 0.0);
  }
}
