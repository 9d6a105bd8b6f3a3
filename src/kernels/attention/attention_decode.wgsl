// Attention of a few rows over a long cache (attention.h), split over the KV length as Flash-Decoding does.
// A workgroup takes one KV head, one split and one row, and all query heads of that KV head (HEADS at a time), so K and V are read
// once. LANES invocations share a key, each holding STEPS units of the head in registers (q, the accumulators); GROUPS such groups run
// over the keys with a softmax of their own, KEYS keys at a time so that many loads are in flight, and are merged at the end.
// The result is divided by the sum and stored in `out` when the step has one split, else kept with its maximum and sum in scratch for
// attention_combine.wgsl. Scores and sums are f32 whatever the cache type.
#include "common/kv_read.wgsl"

#define GROUPS (WG / LANES)
#define STEPS ((UNITS + LANES - 1) / LANES)
#define HEAD_CHUNKS ((GROUP_HEADS + HEADS - 1) / HEADS)
#define HEAD_VECTORS (HEAD_DIM / 4)

@group(0) @binding(B_STEP) var<storage, read> step: array<u32>;
@group(0) @binding(B_PAGES) var<storage, read> pages: array<u32>;
@group(0) @binding(B_Q) var<storage, read_write> q: array<vec4<f32>>;
@group(0) @binding(B_OUT) var<storage, read_write> out: array<vec4<f32>>;
// [MAX_ROWS, N_HEADS, MAX_SPLITS, HEAD_VECTORS] sums, then [MAX_ROWS, N_HEADS, MAX_SPLITS] (maximum, sum, -, -).
@group(0) @binding(B_SCRATCH) var<storage, read_write> scratch: array<vec4<f32>>;

#include "attention/span.wgsl"

var<workgroup> group_stats: array<vec2<f32>, GROUPS * HEADS>;  // maximum and sum of each group
var<workgroup> stats: array<vec2<f32>, HEADS>;                 // of the workgroup
var<workgroup> sums: array<vec4<f32>, MERGED * GROUPS * HEAD_VECTORS>;
#if LANES_SHUFFLE == 0
var<workgroup> partial: array<f32, HEADS * KEYS * WG>;
#endif

// Four elements of a query head times the scale of the scores; zero beyond the head.
fn query(row: u32, head: u32, unit: u32, half: u32) -> vec4<f32> {
  let v = unit * UNIT_VECTORS + half;
  return select(vec4<f32>(), q[(row * N_HEADS + head) * HEAD_VECTORS + min(v, HEAD_VECTORS - 1u)] * SCALE, v < HEAD_VECTORS);
}

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let kv_head = workgroup.x / HEAD_CHUNKS;
  let chunk = workgroup.x % HEAD_CHUNKS;
  let split = workgroup.y;
  let row = workgroup.z;
  let position = step[STEP_POSITIONS + row];
  let begin = first_visible(position);
  let share = split_share(position + 1u - begin);
  let first = begin + split * share;
  let last = min(position + 1u, first + share);
  if (first >= last) {
    return;
  }
  let table = step[STEP_SEQUENCES + row] * PAGES_PER_SEQUENCE;
  let group = local / LANES;
  let lane = local % LANES;

#for h in 0..HEADS
  let head_##h = kv_head * GROUP_HEADS + min(chunk * HEADS + h, GROUP_HEADS - 1u);
  var maximum_##h = LOWEST;
  var sum_##h = 0.0;
#for s in 0..STEPS
  let q_##h##_##s = Unit(query(row, head_##h, lane + s * LANES, 0u), query(row, head_##h, lane + s * LANES, UNIT_VECTORS - 1u));
  var low_##h##_##s = vec4<f32>();
  var high_##h##_##s = vec4<f32>();
#endfor
#endfor

  for (var base = first; base < last; base += GROUPS * KEYS) {
    // Keys beyond the end repeat the last one and count for nothing.
#for k in 0..KEYS
    let key_##k = base + k * GROUPS + group;
    let position_##k = min(key_##k, last - 1u);
    let row_##k = kv_row(pages[table + position_##k / PAGE_TOKENS], N_KV_HEADS, kv_head, position_##k);
#for s in 0..STEPS
    let k_##k##_##s = k_unit(row_##k, min(lane + s * LANES, UNITS - 1u));
    let v_##k##_##s = v_unit(row_##k, min(lane + s * LANES, UNITS - 1u));
#endfor
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
    for (var i = 0u; i < LANES; i++) {
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
      highest = max(highest, select(LOWEST, score_##k##_##h, key_##k < last));
#endfor
      let shrink = exp(maximum_##h - highest);
      maximum_##h = highest;
      sum_##h *= shrink;
#for s in 0..STEPS
      low_##h##_##s *= shrink;
      high_##h##_##s *= shrink;
#endfor
#for k in 0..KEYS
      let weight_##k = select(0.0, exp(score_##k##_##h - highest), key_##k < last);
      sum_##h += weight_##k;
#for s in 0..STEPS
      low_##h##_##s += weight_##k * v_##k##_##s.low;
      high_##h##_##s += weight_##k * v_##k##_##s.high;
#endfor
#endfor
    }
#endfor
  }

  // Merge the groups: one maximum a head, sums scaled to it.
  if (lane == 0u) {
#for h in 0..HEADS
    group_stats[group * HEADS + h] = vec2<f32>(maximum_##h, sum_##h);
#endfor
  }
  workgroupBarrier();
  if (local < HEADS) {
    var highest = LOWEST;
    for (var g = 0u; g < GROUPS; g++) {
      highest = max(highest, group_stats[g * HEADS + local].x);
    }
    var sum = 0.0;
    for (var g = 0u; g < GROUPS; g++) {
      let s = group_stats[g * HEADS + local];
      sum += s.y * exp(s.x - highest);
    }
    stats[local] = vec2<f32>(highest, sum);
  }
  workgroupBarrier();

  // Add up the groups' sums, MERGED heads at a time through workgroup memory, and store them.
  let whole = step[STEP_SPLIT_COUNT] == 1u;
#for h in 0..HEADS
  {
    let scale = exp(maximum_##h - stats[h].x);
#for s in 0..STEPS
    if (lane + s * LANES < UNITS) {
      let at = ((h % MERGED) * GROUPS + group) * HEAD_VECTORS + (lane + s * LANES) * UNIT_VECTORS;
      sums[at] = low_##h##_##s * scale;
#if UNIT_VECTORS == 2
      sums[at + 1u] = high_##h##_##s * scale;
#endif
    }
#endfor
  }
#if h % MERGED == MERGED - 1 || h == HEADS - 1
  workgroupBarrier();
  for (var i = local; i < (h % MERGED + 1) * HEAD_VECTORS; i += WG) {
    let merged = i / HEAD_VECTORS;
    let vector = i % HEAD_VECTORS;
    var sum = vec4<f32>();
    for (var g = 0u; g < GROUPS; g++) {
      sum += sums[(merged * GROUPS + g) * HEAD_VECTORS + vector];
    }
    let in_group = chunk * HEADS + (h - h % MERGED) + merged;
    let row_head = row * N_HEADS + kv_head * GROUP_HEADS + in_group;
    if (in_group < GROUP_HEADS) {
      if (whole) {
        out[row_head * HEAD_VECTORS + vector] = sum / stats[(h - h % MERGED) + merged].y;
      } else {
        scratch[(row_head * MAX_SPLITS + split) * HEAD_VECTORS + vector] = sum;
      }
    }
  }
  workgroupBarrier();
#endif
#endfor
  let in_group = chunk * HEADS + local;
  if (!whole && local < HEADS && in_group < GROUP_HEADS) {
    let row_head = row * N_HEADS + kv_head * GROUP_HEADS + in_group;
    scratch[MAX_ROWS * N_HEADS * MAX_SPLITS * HEAD_VECTORS + row_head * MAX_SPLITS + split] = vec4<f32>(stats[local], 0.0, 0.0);
  }
}
