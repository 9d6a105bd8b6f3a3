// RMS, layer or L2 norm of the parts of a row (norm_parts.h), a workgroup of WG invocations a part; parts along x of the grid, rows along y.
// Each invocation keeps its PER units of the part in registers, so that it is read once, also when the result takes its place. A unit
// is a vec4 where all sizes divide by 4 (VECTORS), else one element. f32 throughout.
#include "common/reduce.wgsl"

#if VECTORS
#define UNIT vec4<f32>
#define SIZE 4
#define SUM(v) dot(v, vec4<f32>(1.0))
#define SQUARE(v) dot(v, v)
#else
#define UNIT f32
#define SIZE 1
#define SUM(v) (v)
#define SQUARE(v) (v) * (v)
#endif
#define UNITS (N / SIZE)
#define PER ((UNITS + WG - 1) / WG)

@group(0) @binding(B_X) var<storage, read_write> x: array<UNIT>;
#ifdef B_Y
@group(0) @binding(B_Y) var<storage, read_write> y: array<UNIT>;
#endif
#ifdef B_GAMMA
@group(0) @binding(B_GAMMA) var<storage, read> gamma: array<UNIT>;
#endif
#ifdef B_BETA
@group(0) @binding(B_BETA) var<storage, read> beta: array<UNIT>;
#endif

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, LANE_BUILTINS) {
  let part = workgroup.x;
  let row = workgroup.y;
  let first = row * (X_STRIDE / SIZE) + X_COLUMN / SIZE + part * UNITS;
  var v: array<UNIT, PER>;
#if LAYER
  var sum = 0.0;
#endif
  for (var i = 0u; i < PER; i++) {
    let unit = local + i * WG;
    if (unit < UNITS) {
      v[i] = x[first + unit];
#if LAYER
      sum += SUM(v[i]);
#endif
    }
  }
#if LAYER
  let mean = workgroup_sum(sum, LANES) / f32(N);
#endif
  var squares = 0.0;
  for (var i = 0u; i < PER; i++) {
    if (local + i * WG < UNITS) {
#if LAYER
      v[i] = v[i] - mean;
#endif
      squares += SQUARE(v[i]);
    }
  }
#if L2
  let inverse = 1.0 / max(sqrt(workgroup_sum(squares, LANES)), EPS);
#else
  let inverse = inverseSqrt(workgroup_sum(squares, LANES) / f32(N) + EPS);
#endif
  for (var i = 0u; i < PER; i++) {
    let unit = local + i * WG;
    if (unit < UNITS) {
#if BY_PART
      let weight = part * UNITS + unit;
#else
      let weight = unit;
#endif
      var normed = v[i] * inverse;
#ifdef B_GAMMA
      normed = normed * gamma[weight];
#endif
#ifdef B_BETA
      normed = normed + beta[weight];
#endif
#ifdef B_Y
      y[(row * N_PARTS + part) * UNITS + unit] = normed;
#else
      x[first + unit] = normed;
#endif
    }
  }
}
