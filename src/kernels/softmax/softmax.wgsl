// Softmax of rows (softmax.h), a workgroup of WG invocations a row of N; heads along x of the grid, rows along y. Each invocation keeps
// to its own elements, so that no other sees what it writes. Maxima start at LEAST, since WGSL has no way to write infinity.
#include "common/reduce.wgsl"

#define LEAST -3.4e38

@group(0) @binding(B_Y) var<storage, read_write> y: array<f32>;
#ifdef B_BIAS
@group(0) @binding(B_BIAS) var<storage, read_write> bias: array<f32>;
#endif
#ifdef B_SLOPES
@group(0) @binding(B_SLOPES) var<storage, read> slopes: array<f32>;
#endif
#ifdef B_SINKS
@group(0) @binding(B_SINKS) var<storage, read> sinks: array<f32>;
#endif

var<workgroup> maxima: array<f32, WG>;

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, LANE_BUILTINS) {
  let head = workgroup.x;
  let first = (workgroup.y * N_HEADS + head) * N;
#ifdef B_BIAS
#if BIAS_BY_HEAD
  let first_bias = first;
#else
  let first_bias = workgroup.y * N;
#endif
#endif
  var most = LEAST;
  for (var i = local; i < N; i += WG) {
    var z = SCALE * y[first + i];
#ifdef B_BIAS
#ifdef B_SLOPES
    z += slopes[head] * bias[first_bias + i];
#else
    z += bias[first_bias + i];
#endif
#endif
    y[first + i] = z;
    most = max(most, z);
  }
  maxima[local] = most;
  workgroupBarrier();
  for (var half = WG / 2u; half > 0u; half = half / 2u) {
    if (local < half) {
      maxima[local] = max(maxima[local], maxima[local + half]);
    }
    workgroupBarrier();
  }
  most = maxima[0];
#ifdef B_SINKS
  most = max(most, sinks[head]);
#endif
  var sum = 0.0;
  for (var i = local; i < N; i += WG) {
    let power = exp(y[first + i] - most);
    y[first + i] = power;
    sum += power;
  }
  sum = workgroup_sum(sum, LANES);
#ifdef B_SINKS
  sum += exp(sinks[head] - most);
#endif
  let inverse = select(0.0, 1.0 / sum, sum > 0.0);
  for (var i = local; i < N; i += WG) {
    y[first + i] *= inverse;
  }
}
