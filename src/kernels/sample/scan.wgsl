// First step of a choice (sample.h): filter, bias and penalties, then keys (arithmetic.wgsl) in the logits' place, and the largest key of each
// group of GROUP ids, so that later steps can pass over most groups; KEY_NAN_SEEN stands above all where a group has a NaN. A workgroup has CHUNK = 4 WG ids, an invocation 4 in a row.
#include "common/step.wgsl"
#include "sample/arithmetic.wgsl"

@group(0) @binding(B_STEP) var<storage, read> step: array<u32>;
@group(0) @binding(B_SAMPLING) var<storage, read> sampling: array<u32>;
@group(0) @binding(B_HISTORY) var<storage, read> history: array<u32>;
@group(0) @binding(B_LOGITS) var<storage, read_write> logits: array<u32>;
@group(0) @binding(B_MAXIMA) var<storage, read_write> maxima: array<u32>;

const CHUNK = 4u * WG;
const GROUP_LANES = GROUP / 4u;

var<workgroup> counts: array<atomic<u32>, CHUNK>;  // how often recent tokens hold an id
var<workgroup> biases: array<f32, CHUNK>;
var<workgroup> best: array<u32, WG>;

fn parameter(row: u32, word: u32) -> u32 {
  return sampling[row * ROW_WORDS + word];
}
fn real(row: u32, word: u32) -> f32 {
  return bitcast<f32>(parameter(row, word));
}
// The value, but no compiler can know that: a product is rounded before it meets a sum, as on the CPU.
fn opaque(row: u32, value: f32) -> f32 {
  return bitcast<f32>(bitcast<u32>(value) ^ parameter(row, ROW_ZERO));
}

// What the sampling buffer has of a row behind the parameters of all: pairs of id and bias, then bits of ids.
const MASK_WORDS = (VOCAB + 31u) / 32u;
fn extras(row: u32) -> u32 {
  return ROW_WORDS * MAX_ROWS + row * (2u * MAX_BIAS + MASK_WORDS);
}
fn forbidden(row: u32, id: u32) -> bool {
  return (sampling[extras(row) + 2u * MAX_BIAS + id / 32u] & (1u << (id % 32u))) == 0u;
}

fn adjusted_key(row: u32, bits: u32, bias: f32, count: u32) -> u32 {
  if ((bits & 0x7fffffffu) > 0x7f800000u) {
    return 0u;
  }
  if (bitcast<u32>(bias) == 0xff800000u) {
    return KEY_NEGATIVE_INFINITY;
  }
  var l = bitcast<f32>(bits) + bias;
  if (count > 0u) {
    l = opaque(row, l * select(real(row, ROW_REPEAT), real(row, ROW_REPEAT_INVERSE), l > 0.0));
    l -= opaque(row, f32(count) * real(row, ROW_FREQUENCY)) + real(row, ROW_PRESENCE);
  }
  return order_key(bitcast<u32>(l));
}

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let row = workgroup.y;
  let first = workgroup.x * CHUNK;
  let window = parameter(row, ROW_WINDOW);
  let n_bias = parameter(row, ROW_BIAS_COUNT);
  let adjusted = window > 0u || n_bias > 0u;
  let filtered = parameter(row, ROW_FILTERED) != 0u;
  if (adjusted) {
    for (var i = local; i < CHUNK; i += WG) {
      atomicStore(&counts[i], 0u);
      biases[i] = 0.0;
    }
    workgroupBarrier();
    let step_row = step[STEP_OUTPUT_ROWS + row];
    let end = step[STEP_POSITIONS + step_row] + 1u;
    let text = step[STEP_SEQUENCES + step_row] * CONTEXT;
    for (var i = end - min(end, window) + local; i < end; i += WG) {
      let at = history[text + i] - first;
      if (at < CHUNK) {
        atomicAdd(&counts[at], 1u);
      }
    }
    for (var i = local; i < n_bias; i += WG) {
      let pair = extras(row) + 2u * i;
      let at = sampling[pair] - first;
      if (at < CHUNK) {
        biases[at] = bitcast<f32>(sampling[pair + 1u]);
      }
    }
    workgroupBarrier();
  }
  var largest = 0u;
  for (var i = 4u * local; i < 4u * local + 4u; i++) {
    if (first + i < VOCAB) {
      let at = row * VOCAB + first + i;
      var key = 0u;
      if (adjusted) {
        key = adjusted_key(row, logits[at], biases[i], atomicLoad(&counts[i]));
      } else {
        key = order_key(logits[at]);
      }
      if (filtered && key != KEY_NAN && forbidden(row, first + i)) {
        key = KEY_NEGATIVE_INFINITY;
      }
      logits[at] = key;
      largest = max(largest, select(key, KEY_NAN_SEEN, key == KEY_NAN));
    }
  }
  best[local] = largest;
  workgroupBarrier();
  for (var half = GROUP_LANES / 2u; half > 0u; half = half / 2u) {
    if (local % GROUP_LANES < half) {
      best[local] = max(best[local], best[local + half]);
    }
    workgroupBarrier();
  }
  let group = (first + 4u * local) / GROUP;
  if (local % GROUP_LANES == 0u && group < GROUPS) {
    maxima[row * GROUPS + group] = best[local];
  }
}
