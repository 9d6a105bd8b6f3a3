// RMS norm of groups, gated (group_norm.h). One workgroup of WG invocations a group, groups along x of the grid, rows along y; f32.
#include "common/reduce.wgsl"
#include "common/math.wgsl"

#define SIZE (N / N_GROUPS)
#define PER ((SIZE + WG - 1) / WG)

@group(0) @binding(B_X) var<storage, read_write> x: array<f32>;
@group(0) @binding(B_GAMMA) var<storage, read> gamma: array<f32>;
@group(0) @binding(B_Y) var<storage, read_write> y: array<f32>;
#ifdef B_GATE
@group(0) @binding(B_GATE) var<storage, read_write> gate: array<f32>;
#endif

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, LANE_BUILTINS) {
  let first = workgroup.x * SIZE;
  var values: array<f32, PER>;
  var squares = 0.0;
  for (var j = 0u; j < PER; j++) {
    let i = local + j * WG;
    if (i < SIZE) {
      values[j] = x[workgroup.y * N + first + i];
      squares += values[j] * values[j];
    }
  }
  let inverse = inverseSqrt(workgroup_sum(squares, LANES) / f32(SIZE) + EPS);
  for (var j = 0u; j < PER; j++) {
    let i = first + local + j * WG;
    if (local + j * WG < SIZE) {
      var value = values[j] * inverse * gamma[i % N_GAMMA];
#ifdef B_GATE
      value *= silu(gate[workgroup.y * GATE_STRIDE + GATE_COLUMN + i]);
#endif
      y[workgroup.y * N + i] = value;
    }
  }
}
