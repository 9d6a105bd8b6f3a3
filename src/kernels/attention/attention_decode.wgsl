// Attention of a few rows over a long cache (attention.h), split over the KV length as Flash-Decoding does.
// A workgroup takes one KV head, one split and one row, and all query heads of that KV head (HEADS at a time), so K and V are read
// once. LANES invocations share a key, each holding STEPS units of the head in registers (q, the accumulators); GROUPS such groups run
// over the keys with a softmax of their own, KEYS keys at a time so that many loads are in flight, and are merged at the end.
// The result is divided by the sum and kept (results.wgsl) when the step has one split, else kept with its maximum and sum in scratch for
// attention_combine.wgsl. Scores and sums are f32 whatever the cache type.
// WHOLE: a step has one split.
// With KV_APPEND the row brings its raw q, k and v (append.wgsl): the workgroups of the last split use the new key last, from registers,
// and one of them per KV head puts it into the cache.
#include "common/kv_read.wgsl"

#define GROUPS (WG / LANES)
#define STEPS ((UNITS + LANES - 1) / LANES)
#define HEAD_CHUNKS ((GROUP_HEADS + HEADS - 1) / HEADS)
#define HEAD_VECTORS (HEAD_DIM / 4)
#define V_VECTORS (V_DIM / 4)

@group(0) @binding(B_STEP) var<storage, read> step: array<u32>;
@group(0) @binding(B_PAGES) var<storage, read> pages: array<u32>;
#ifdef KV_APPEND
@group(0) @binding(B_QKV) var<storage, read_write> qkv: array<vec4<f32>>;
#else
@group(0) @binding(B_Q) var<storage, read_write> q: array<vec4<f32>>;
#endif
// [MAX_ROWS, N_HEADS, MAX_SPLITS, V_VECTORS] sums, then [MAX_ROWS, N_HEADS, MAX_SPLITS] (maximum, sum, -, -).
@group(0) @binding(B_SCRATCH) var<storage, read_write> scratch: array<vec4<f32>>;
#ifdef B_SINKS
@group(0) @binding(B_SINKS) var<storage, read> sinks: array<f32>;
#endif

#include "attention/results.wgsl"
#include "attention/span.wgsl"
#include "attention/alibi.wgsl"
#include "attention/biases.wgsl"

var<workgroup> group_stats: array<vec2<f32>, GROUPS * HEADS>;  // maximum and sum of each group
var<workgroup> stats: array<vec2<f32>, HEADS>;                 // of the workgroup
var<workgroup> sums: array<vec4<f32>, MERGED * GROUPS * V_VECTORS>;
#if LANES_SHUFFLE == 0
var<workgroup> partial: array<f32, HEADS * KEYS * WG>;
#endif

#ifdef KV_APPEND
#include "attention/append.wgsl"
#if HEADS * STEPS == 1
#define EARLY 1
#define FRESH_Q(h, s) early_q
#define FRESH_K(s) early_k
#define FRESH_V(s) early_v
#else
#define FRESH_Q(h, s) fresh(head_##h, unit_##s)
#define FRESH_K(s) fresh(N_HEADS + kv_head, unit_##s)
#define FRESH_V(s) qkv_unit(N_HEADS + N_KV_HEADS + kv_head, unit_##s)
#endif

// The sum over a group's lanes.
fn lanes_sum(value: f32) -> f32 {
  var sum = value;
#for b in 0..LANES_LOG2
  sum += subgroupShuffleXor(sum, 1u << b##u);
#endfor
  return sum;
}
#else
// Four elements of a query head times the scale of the scores; zero beyond the head.
fn query(row: u32, head: u32, unit: u32, half: u32) -> vec4<f32> {
  let v = unit * UNIT_VECTORS + half;
  return select(vec4<f32>(), q[(row * N_HEADS + head) * HEAD_VECTORS + min(v, HEAD_VECTORS - 1u)] * SCALE, v < HEAD_VECTORS);
}
#endif

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let kv_head = workgroup.x / HEAD_CHUNKS;
  let chunk = workgroup.x % HEAD_CHUNKS;
  let row = workgroup.z;
  let group = local / LANES;
  let lane = local % LANES;
#for s in 0..STEPS
  let unit_##s = min(lane + s * LANES, UNITS - 1u);
  let in_head_##s = lane + s * LANES < UNITS;
#endfor
#for h in 0..HEADS
  let head_##h = kv_head * GROUP_HEADS + min(chunk * HEADS + h, GROUP_HEADS - 1u);
#endfor
#ifdef EARLY
  // The row's own q, k and v are on their way while the step is read, and not behind the keys.
  let early_q = fresh(head_0, unit_0);
  let early_k = fresh(N_HEADS + kv_head, unit_0);
  let early_v = qkv_unit(N_HEADS + N_KV_HEADS + kv_head, unit_0);
#endif

  let position = step[STEP_POSITIONS + row];
  let sequence = step[STEP_SEQUENCES + row];
  let begin = FIRST_SEEN(row, position);
#ifdef WHOLE
  const split = 0u;
  const whole = true;
  let first = begin;
  let last = LAST_SEEN(row, position) + 1u;
#else
  let split = workgroup.y;
  let whole = step[STEP_SPLIT_COUNT] == 1u;
  let share = split_share(LAST_SEEN(row, position) + 1u - begin);
  let first = begin + split * share;
  let last = min(LAST_SEEN(row, position) + 1u, first + share);
  if (first >= last) {
    return;
  }
#endif
  let table = sequence * PAGES_PER_SEQUENCE;

#ifdef KV_APPEND
  let is_last = last == position + 1u;
  let kept = select(last, position, is_last);  // the new key is not in the cache
#else
  let kept = last;
#endif
  // Keys beyond the end repeat the last one and count for nothing.
  let end = max(kept, 1u) - 1u;
#for k in 0..KEYS
  let row_##k = kv_row(pages[table + min(first + k * GROUPS + group, end) / PAGE_TOKENS], N_KV_HEADS, kv_head, min(first + k * GROUPS + group, end));
  var next_page_##k = pages[table + min(first + (k + KEYS) * GROUPS + group, end) / PAGE_TOKENS];
#for s in 0..STEPS
  var next_k_##k##_##s = fetch_k(row_##k, min(lane + s * LANES, UNITS - 1u));
  var next_v_##k##_##s = fetch_v(row_##k, min(lane + s * LANES, UNITS - 1u));
#endfor
#endfor

#ifdef KV_APPEND
#for s in 0..STEPS
  let turn_##s = turn_of(position, unit_##s);
#endfor
#endif
#for h in 0..HEADS
#ifdef ALIBI
  let slope_##h = alibi_slope(head_##h);
#endif
#ifdef B_SINKS
  // The sink is a score of the first group of the row's first split.
  let has_sink_##h = group == 0u && split == 0u;
  var maximum_##h = select(LOWEST, sinks[head_##h], has_sink_##h);
  var sum_##h = select(0.0, 1.0, has_sink_##h);
#else
  var maximum_##h = LOWEST;
  var sum_##h = 0.0;
#endif
#ifdef KV_APPEND
#ifdef B_NORMS
  var squares_##h = 0.0;
#for s in 0..STEPS
  squares_##h += select(0.0, squares_of(FRESH_Q(h, s).own), in_head_##s);
#endfor
  let inverse_##h = inverseSqrt(lanes_sum(squares_##h) / f32(HEAD_DIM) + EPS);
#else
  const inverse_##h = 1.0;
#endif
#endif
#for s in 0..STEPS
#ifdef KV_APPEND
  let turned_##h##_##s = turned(FRESH_Q(h, s), head_##h, unit_##s, turn_##s, inverse_##h);
  let scale_##h##_##s = select(0.0, SCALE * temperature(position), in_head_##s);
  let q_##h##_##s = Unit(turned_##h##_##s.low * scale_##h##_##s, turned_##h##_##s.high * scale_##h##_##s);
#else
  let q_##h##_##s = Unit(query(row, head_##h, lane + s * LANES, 0u), query(row, head_##h, lane + s * LANES, UNIT_VECTORS - 1u));
#endif
  var low_##h##_##s = vec4<f32>();
  var high_##h##_##s = vec4<f32>();
#endfor
#endfor

  for (var base = first; base < kept; base += GROUPS * KEYS) {
#for k in 0..KEYS
    let key_##k = base + k * GROUPS + group;
#for s in 0..STEPS
    let k_##k##_##s = decoded(next_k_##k##_##s, unit_##s);
    let raw_v_##k##_##s = next_v_##k##_##s;
#endfor
#endfor
    // The next turn's are on their way before this turn's are used, and the page after them.
#for k in 0..KEYS
    let row_##k = kv_row(next_page_##k, N_KV_HEADS, kv_head, min(key_##k + GROUPS * KEYS, end));
    next_page_##k = pages[table + min(key_##k + 2u * GROUPS * KEYS, end) / PAGE_TOKENS];
#for s in 0..STEPS
    next_k_##k##_##s = fetch_k(row_##k, unit_##s);
    next_v_##k##_##s = fetch_v(row_##k, unit_##s);
#endfor
#endfor
#for k in 0..KEYS
#for h in 0..HEADS
    var score_##k##_##h = 0.0;
#for s in 0..STEPS
    score_##k##_##h += dot(q_##h##_##s.low, k_##k##_##s.low) + dot(q_##h##_##s.high, k_##k##_##s.high);
#endfor
#endfor
#endfor

    // The sum over a key's lanes.
#if LANES_SHUFFLE
#for b in 0..LANES_LOG2
#for k in 0..KEYS
#for h in 0..HEADS
    score_##k##_##h += subgroupShuffleXor(score_##k##_##h, 1u << b##u);
#endfor
#endfor
#endfor
#elif LANES > 1
#for k in 0..KEYS
#for h in 0..HEADS
    partial[(k * HEADS + h) * WG + local] = score_##k##_##h;
#endfor
#endfor
    workgroupBarrier();
#for k in 0..KEYS
#for h in 0..HEADS
    score_##k##_##h = 0.0;
    for (var i = 0u; i < TURNS(LANES); i++) {
      score_##k##_##h += partial[(k * HEADS + h) * WG + group * LANES + i];
    }
#endfor
#endfor
    workgroupBarrier();
#endif

#for h in 0..HEADS
    {
      var highest = maximum_##h;
#for k in 0..KEYS
#if SOFTCAP > 0
      score_##k##_##h = cap(score_##k##_##h);
#endif
#ifdef ALIBI
      score_##k##_##h += alibi(slope_##h, key_##k, position);
#endif
#ifdef B_BIASES
      score_##k##_##h += bias(head_##h, key_##k, position);
#endif
      highest = max(highest, select(LOWEST, score_##k##_##h, key_##k < kept));
#endfor
      let shrink = exp(maximum_##h - highest);
      maximum_##h = highest;
      sum_##h *= shrink;
#for s in 0..STEPS
      low_##h##_##s *= shrink;
      high_##h##_##s *= shrink;
#endfor
#for k in 0..KEYS
      let weight_##k = select(0.0, exp(score_##k##_##h - highest), key_##k < kept);
      sum_##h += weight_##k;
#for s in 0..STEPS
      let v_##k##_##s = decoded(raw_v_##k##_##s, unit_##s);
      low_##h##_##s += weight_##k * v_##k##_##s.low;
      high_##h##_##s += weight_##k * v_##k##_##s.high;
#endfor
#endfor
    }
#endfor
  }

#ifdef KV_APPEND
  if (is_last) {
    // All groups go through this, the first one counts.
    let new_row = kv_row(pages[table + position / PAGE_TOKENS], N_KV_HEADS, kv_head, position);
#ifdef B_NORMS
    var new_squares = 0.0;
#for s in 0..STEPS
    new_squares += select(0.0, squares_of(FRESH_K(s).own), in_head_##s);
#endfor
    let new_inverse = inverseSqrt(lanes_sum(new_squares) / f32(HEAD_DIM) + EPS);
#else
    const new_inverse = 1.0;
#endif
#ifdef V_NORM
    var v_squares = 0.0;
#for s in 0..STEPS
    v_squares += select(0.0, squares_of(FRESH_V(s)), in_head_##s);
#endfor
    let v_inverse = inverseSqrt(lanes_sum(v_squares) / f32(HEAD_DIM) + EPS);
#else
    const v_inverse = 1.0;
#endif
#for s in 0..STEPS
    let new_k_##s = as_kept(turned(FRESH_K(s), N_HEADS + kv_head, unit_##s, turn_##s, new_inverse));
    let new_v_##s = as_kept(value_unit(FRESH_V(s), v_inverse));
    if (group == 0u && chunk == 0u && in_head_##s) {
      keep_k(new_row, unit_##s, new_k_##s);
      keep_v(new_row, unit_##s, new_v_##s);
    }
#endfor
#for h in 0..HEADS
    {
      var part = 0.0;
#for s in 0..STEPS
      part += dot(q_##h##_##s.low, new_k_##s.low) + dot(q_##h##_##s.high, new_k_##s.high);
#endfor
      var score = lanes_sum(part);
#if SOFTCAP > 0
      score = cap(score);
#endif
#ifdef B_BIASES
      score += bias(head_##h, position, position);
#endif
      let highest = max(maximum_##h, select(LOWEST, score, group == 0u));
      let shrink = exp(maximum_##h - highest);
      let weight = select(0.0, exp(score - highest), group == 0u);
      maximum_##h = highest;
      sum_##h = sum_##h * shrink + weight;
#for s in 0..STEPS
      low_##h##_##s = low_##h##_##s * shrink + weight * new_v_##s.low;
      high_##h##_##s = high_##h##_##s * shrink + weight * new_v_##s.high;
#endfor
    }
#endfor
  }
#endif

  // Merge the groups: one maximum a head, sums scaled to it.
  if (lane == 0u) {
#for h in 0..HEADS
    group_stats[group * HEADS + h] = vec2<f32>(maximum_##h, sum_##h);
#endfor
  }
  workgroupBarrier();
  if (local < HEADS) {
    var highest = LOWEST;
    for (var g = 0u; g < TURNS(GROUPS); g++) {
      highest = max(highest, group_stats[g * HEADS + local].x);
    }
    var sum = 0.0;
    for (var g = 0u; g < TURNS(GROUPS); g++) {
      let s = group_stats[g * HEADS + local];
      sum += s.y * exp(s.x - highest);
    }
    stats[local] = vec2<f32>(highest, sum);
  }
  workgroupBarrier();

  // Add up the groups' sums, MERGED heads at a time through workgroup memory, and store them.
#for h in 0..HEADS
  {
    let scale = exp(maximum_##h - stats[h].x);
#for s in 0..STEPS
    if (lane + s * LANES < V_UNITS) {
      let at = ((h % MERGED) * GROUPS + group) * V_VECTORS + (lane + s * LANES) * UNIT_VECTORS;
      sums[at] = low_##h##_##s * scale;
#if UNIT_VECTORS == 2
      sums[at + 1u] = high_##h##_##s * scale;
#endif
    }
#endfor
  }
#if h % MERGED == MERGED - 1 || h == HEADS - 1
  workgroupBarrier();
  for (var i = local; i < (h % MERGED + 1) * V_VECTORS; i += WG) {
    let merged = i / V_VECTORS;
    let vector = i % V_VECTORS;
    var sum = vec4<f32>();
    for (var g = 0u; g < TURNS(GROUPS); g++) {
      sum += sums[(merged * GROUPS + g) * V_VECTORS + vector];
    }
    let in_group = chunk * HEADS + (h - h % MERGED) + merged;
    let row_head = row * N_HEADS + kv_head * GROUP_HEADS + in_group;
    if (in_group < GROUP_HEADS) {
      if (whole) {
        keep_result(row_head, vector, sum / stats[(h - h % MERGED) + merged].y);
      } else {
        scratch[(row_head * MAX_SPLITS + split) * V_VECTORS + vector] = sum;
      }
    }
  }
  workgroupBarrier();
#endif
#endfor
  let in_group = chunk * HEADS + local;
  if (!whole && local < HEADS && in_group < GROUP_HEADS) {
    let row_head = row * N_HEADS + kv_head * GROUP_HEADS + in_group;
    scratch[MAX_ROWS * N_HEADS * MAX_SPLITS * V_VECTORS + row_head * MAX_SPLITS + split] = vec4<f32>(stats[local], 0.0, 0.0);
  }
}
