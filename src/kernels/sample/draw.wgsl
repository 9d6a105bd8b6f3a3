// Third step of a choice (sample.h): the best (score, id) of every CHUNK = 4 WG ids among those that stay. Scores hold the noise of the
// draw, or are all equal at temperature 0; the lowest id wins among equals. Where the largest
// key is no number's, nothing can be chosen (sampling.h): NO_TOKEN is the best. An invocation has 4 ids in a row: one call of the generator.
#include "common/step.wgsl"
#include "sample/arithmetic.wgsl"

@group(0) @binding(B_STEP) var<storage, read> step: array<u32>;
@group(0) @binding(B_SAMPLING) var<storage, read> sampling: array<u32>;
@group(0) @binding(B_KEYS) var<storage, read_write> keys: array<u32>;
@group(0) @binding(B_MAXIMA) var<storage, read_write> maxima: array<u32>;
@group(0) @binding(B_CUTS) var<storage, read_write> cuts: array<u32>;
@group(0) @binding(B_PARTS) var<storage, read_write> parts: array<vec2<u32>>;

var<workgroup> best: array<vec2<u32>, WG>;

// Of two (value, id) the larger value, or the lower id among equals.
fn better(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  return select(a, b, b.x > a.x || (b.x == a.x && b.y < a.y));
}

// Leaves the best of all in best[0].
fn reduce(local: u32) {
  workgroupBarrier();
  for (var half = WG / 2u; half > 0u; half = half / 2u) {
    if (local < half) {
      best[local] = better(best[local], best[local + half]);
    }
    workgroupBarrier();
  }
}

// The smallest key that stays.
fn threshold(row: u32, top: u32) -> u32 {
  let at = row * ROW_WORDS;
  if (sampling[at + ROW_SCALE] == 0u) {
    return top;
  }
  var lowest = 0u;
  let top_k = sampling[at + ROW_TOP_K];
  if ((top_k > 0u && top_k < VOCAB) || sampling[at + ROW_TOP_P] > 0u) {
    lowest = cuts[row];
  }
  if (sampling[at + ROW_LOG_MIN_P] != 0xff800000u) {
    lowest = max(lowest, order_key(bitcast<u32>(value_of(top) + bitcast<f32>(sampling[at + ROW_LOG_MIN_P]))));
  }
  return lowest;
}

fn best_of_four(row: u32, first: u32, top: u32) -> vec2<u32> {
  if (top <= KEY_NEGATIVE_INFINITY || top >= KEY_POSITIVE_INFINITY) {
    return vec2<u32>(0xffffffffu, NO_TOKEN);
  }
  let lowest = threshold(row, top);
  let at = row * ROW_WORDS;
  let scale = bitcast<f32>(sampling[at + ROW_SCALE]);
  var four = vec4<u32>(0u);
  var stays = vec4<bool>(false);
  for (var i = 0u; i < 4u; i++) {
    if (first + i < VOCAB) {
      four[i] = keys[row * VOCAB + first + i];
      stays[i] = four[i] >= lowest;
    }
  }
  var mine = vec2<u32>(0u, 0xffffffffu);
  if (!any(stays)) {
    return mine;
  }
  var noise = vec4<u32>(0u);
  if (scale > 0.0) {
    let position = step[STEP_POSITIONS + step[STEP_OUTPUT_ROWS + row]] + 1u;
    noise = philox(vec4<u32>(first / 4u, position, 0u, 0u),
                   vec2<u32>(sampling[at + ROW_SEED_LOW], sampling[at + ROW_SEED_HIGH]));
  }
  for (var i = 0u; i < 4u; i++) {
    if (stays[i]) {
      let points = select(0i, score(distance_below(four[i], top), scale, noise[i]), scale > 0.0);
      mine = better(mine, vec2<u32>(bitcast<u32>(points) ^ 0x80000000u, first + i));
    }
  }
  return mine;
}

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let row = workgroup.y;
  var largest = 0u;
  for (var i = local; i < GROUPS; i += WG) {
    largest = max(largest, maxima[row * GROUPS + i]);
  }
  best[local] = vec2<u32>(largest, 0u);
  reduce(local);
  let top = best[0].x;
  workgroupBarrier();
  best[local] = best_of_four(row, 4u * (workgroup.x * WG + local), top);
  reduce(local);
  if (local == 0u) {
    parts[row * PARTS + workgroup.x] = best[0];
  }
}
