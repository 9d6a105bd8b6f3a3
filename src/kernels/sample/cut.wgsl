// Second step of a choice (sample.h): the threshold of top-k and top-p, as the smallest key that stays. One workgroup a row. Thresholds
// are found digit by digit from the top: keys are tallied by eight bits, the digit in which the sum from above reaches the wanted one is
// kept. Sums are integers, so neither order nor device matter. Only groups whose largest key can matter are read: the k-th largest
// of the groups' maxima is below k keys at least.
#include "sample/arithmetic.wgsl"

@group(0) @binding(B_SAMPLING) var<storage, read> sampling: array<u32>;
@group(0) @binding(B_KEYS) var<storage, read_write> keys: array<u32>;
@group(0) @binding(B_MAXIMA) var<storage, read_write> maxima: array<u32>;
@group(0) @binding(B_CUTS) var<storage, read_write> cuts: array<u32>;

const WG = 256u;  // an invocation for each value of a digit
// What is tallied.
const MAXIMA = 0u;
const KEYS = 1u;
const WEIGHTS = 2u;
// Weights are tallied in two halves, so that sums of 2^19 of them fit.
const HALF_BITS = 13u;
// Further below the top a weight is 0.
const NO_WEIGHT = 19.0;

var<workgroup> groups: array<u32, GROUPS>;  // that are read
var<workgroup> n_groups: atomic<u32>;
var<workgroup> low_sums: array<atomic<u32>, WG>;
var<workgroup> high_sums: array<atomic<u32>, WG>;
var<workgroup> sums: array<vec2<u32>, WG>;
var<workgroup> digit: u32;
var<workgroup> sum_above: vec2<u32>;

// Numbers of 64 bits: low word, high word.
fn add64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  let low = a.x + b.x;
  return vec2<u32>(low, a.y + b.y + select(0u, 1u, low < a.x));
}
fn less64(a: vec2<u32>, b: vec2<u32>) -> bool {
  return a.y < b.y || (a.y == b.y && a.x < b.x);
}
fn times_fraction(a: vec2<u32>, fraction: u32) -> vec2<u32> {
  return add64(vec2<u32>(a.y * fraction, mul_high(a.y, fraction)), vec2<u32>(mul_high(a.x, fraction), 0u));
}
fn halves(low: u32, high: u32) -> vec2<u32> {
  return add64(vec2<u32>(low, 0u), vec2<u32>(high << HALF_BITS, high >> (32u - HALF_BITS)));
}

fn largest_of(value: u32, local: u32) -> u32 {
  sums[local].x = value;
  workgroupBarrier();
  for (var half = WG / 2u; half > 0u; half = half / 2u) {
    if (local < half) {
      sums[local].x = max(sums[local].x, sums[local + half].x);
    }
    workgroupBarrier();
  }
  let all = sums[0].x;
  workgroupBarrier();
  return all;
}

// Makes sums[i] the sum of the tallies i and above.
fn sum_from_above(local: u32) {
  sums[local] = halves(atomicLoad(&low_sums[local]), atomicLoad(&high_sums[local]));
  workgroupBarrier();
  for (var step = 1u; step < WG; step = step * 2u) {
    var more = vec2<u32>(0u, 0u);
    if (local + step < WG) {
      more = sums[local + step];
    }
    workgroupBarrier();
    sums[local] = add64(sums[local], more);
    workgroupBarrier();
  }
}

fn tally(key: u32, at: u32, top: u32, what: u32) {
  if (what == WEIGHTS) {
    let w = weight(key, top);
    atomicAdd(&low_sums[at], w & ((1u << HALF_BITS) - 1u));
    atomicAdd(&high_sums[at], w >> HALF_BITS);
  } else {
    atomicAdd(&low_sums[at], 1u);
  }
}

fn tally_digits(row: u32, local: u32, top: u32, what: u32, low: u32, bits: u32) {
  let shift = max(bits, 8u) - 8u;
  let span = select((1u << bits) - 1u, 0xffffffffu, bits == 32u);
  let n = select(atomicLoad(&n_groups) * GROUP, GROUPS, what == MAXIMA);
  for (var i = local; i < n; i += WG) {
    var key = 0u;
    if (what == MAXIMA) {
      key = maxima[row * GROUPS + i];
    } else {
      let id = groups[i / GROUP] * GROUP + i % GROUP;
      if (id < VOCAB) {
        key = keys[row * VOCAB + id];
      }
    }
    if (key >= low && key - low <= span) {
      tally(key, (key - low) >> shift, top, what);
    }
  }
}

// The largest t for which what is tallied of keys >= t reaches `wanted`; `lowest` when no larger one does.
fn search(row: u32, local: u32, lowest: u32, top: u32, what: u32, wanted: vec2<u32>) -> u32 {
  var low = lowest;
  var bits = 32u - countLeadingZeros(top - low);  // in which keys differ from low
  var above = vec2<u32>(0u, 0u);
  for (var turn = 0u; turn < 4u; turn++) {
    atomicStore(&low_sums[local], 0u);
    atomicStore(&high_sums[local], 0u);
    workgroupBarrier();
    if (bits > 0u) {
      tally_digits(row, local, top, what, low, bits);
    }
    workgroupBarrier();
    sum_from_above(local);
    let reached = add64(above, sums[local]);
    var next = above;
    if (local + 1u < WG) {
      next = add64(above, sums[local + 1u]);
    }
    if (less64(next, wanted) && (local == 0u || !less64(reached, wanted))) {
      digit = local;
      sum_above = next;
    }
    workgroupBarrier();
    let shift = max(bits, 8u) - 8u;
    low += digit << shift;
    above = sum_above;
    bits = shift;
    workgroupBarrier();
  }
  return low;
}

fn list_groups(row: u32, local: u32, lowest: u32) {
  if (local == 0u) {
    atomicStore(&n_groups, 0u);
  }
  workgroupBarrier();
  for (var i = local; i < GROUPS; i += WG) {
    if (maxima[row * GROUPS + i] >= lowest) {
      groups[atomicAdd(&n_groups, 1u)] = i;
    }
  }
  workgroupBarrier();
}

fn total_weight(row: u32, local: u32, top: u32, lowest: u32) -> vec2<u32> {
  atomicStore(&low_sums[local], 0u);
  atomicStore(&high_sums[local], 0u);
  workgroupBarrier();
  let n = atomicLoad(&n_groups) * GROUP;
  for (var i = local; i < n; i += WG) {
    let id = groups[i / GROUP] * GROUP + i % GROUP;
    if (id < VOCAB) {
      let key = keys[row * VOCAB + id];
      if (key >= lowest) {
        tally(key, local, top, WEIGHTS);
      }
    }
  }
  workgroupBarrier();
  sum_from_above(local);
  let total = sums[0];
  workgroupBarrier();
  return total;
}

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let row = workgroup.x;
  let top_k = sampling[row * ROW_WORDS + ROW_TOP_K];
  let top_p = sampling[row * ROW_WORDS + ROW_TOP_P];
  let by_count = top_k > 0u && top_k < VOCAB;
  var mine = 0u;
  for (var i = local; i < GROUPS; i += WG) {
    mine = max(mine, maxima[row * GROUPS + i]);
  }
  let top = largest_of(mine, local);
  var lowest = 0u;
  if (by_count) {
    if (top_k <= GROUPS) {
      lowest = search(row, local, 0u, top, MAXIMA, vec2<u32>(top_k, 0u));
    }
    list_groups(row, local, lowest);
    lowest = search(row, local, lowest, top, KEYS, vec2<u32>(top_k, 0u));
  } else {
    lowest = min(top, order_key(bitcast<u32>(value_of(top) - NO_WEIGHT)));
    list_groups(row, local, lowest);
  }
  if (top_p > 0u) {
    var wanted = times_fraction(total_weight(row, local, top, lowest), top_p);
    if (wanted.x == 0u && wanted.y == 0u) {
      wanted.x = 1u;
    }
    lowest = search(row, local, lowest, top, WEIGHTS, wanted);
  }
  if (local == 0u) {
    cuts[row] = lowest;
  }
}
