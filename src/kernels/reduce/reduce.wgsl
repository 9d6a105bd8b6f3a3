// What a row adds up to (reduce.h), a workgroup of WG invocations a row of N; the parts of a step's row along x of the grid, its rows
// along y.
#include "common/reduce.wgsl"

#define PER ((N + WG - 1) / WG)

@group(0) @binding(B_X) var<storage, read_write> x: array<f32>;
#if ARGMAX
@group(0) @binding(B_Y) var<storage, read_write> y: array<u32>;
#else
@group(0) @binding(B_Y) var<storage, read_write> y: array<f32>;
#endif
#if ARGMAX || LARGEST
var<workgroup> best_keys: array<u32, WG>;
var<workgroup> best_places: array<u32, WG>;

// Larger numbers have larger keys; NaN has 0, the smallest. The two zeros are one number.
fn key_of(v: f32) -> u32 {
  let bits = bitcast<u32>(v);
  let magnitude = bits & 0x7fffffffu;
  let key = select(0x80000000u + magnitude, 0x80000000u - magnitude, bits != magnitude);
  return select(key, 0u, magnitude > 0x7f800000u);
}
#endif
#if RUNNING
var<workgroup> sums: array<f32, WG>;
#endif

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, LANE_BUILTINS) {
  let row = workgroup.y * N_PARTS + workgroup.x;
  let first = row * N;
#if ARGMAX || LARGEST
  var key = 0u;
  var place = 0u;
  for (var i = local; i < N; i += WG) {
    let other = key_of(x[first + i]);
    if (other > key) {
      key = other;
      place = i;
    }
  }
  best_keys[local] = key;
  best_places[local] = place;
  workgroupBarrier();
  for (var half = WG / 2u; half > 0u; half = half / 2u) {
    if (local < half) {
      let other = best_keys[local + half];
      let other_place = best_places[local + half];
      if (other > best_keys[local] || (other == best_keys[local] && other_place < best_places[local])) {
        best_keys[local] = other;
        best_places[local] = other_place;
      }
    }
    workgroupBarrier();
  }
  if (local == 0u) {
#if LARGEST
    y[row] = x[first + best_places[0]];
#else
    y[row] = best_places[0];
#endif
  }
#elif RUNNING
  // Each invocation adds up PER neighbours, then learns the sum of all before it.
  var sum = 0.0;
  for (var i = local * PER; i < min(local * PER + PER, N); i++) {
    sum += x[first + i];
  }
  sums[local] = sum;
  workgroupBarrier();
  for (var reach = 1u; reach < WG; reach = reach * 2u) {
    var before = 0.0;
    if (local >= reach) {
      before = sums[local - reach];
    }
    workgroupBarrier();
    sums[local] += before;
    workgroupBarrier();
  }
  sum = 0.0;
  if (local > 0u) {
    sum = sums[local - 1u];
  }
  for (var i = local * PER; i < min(local * PER + PER, N); i++) {
    sum += x[first + i];
    y[first + i] = sum;
  }
#else
  var sum = 0.0;
  for (var i = local; i < N; i += WG) {
    sum += x[first + i];
  }
  sum = workgroup_sum(sum, LANES);
  if (local == 0u) {
#if MEAN
    y[row] = sum / f32(N);
#else
    y[row] = sum;
#endif
  }
#endif
}
