// The token shift of RWKV (shift.h), f32. Four channels an invocation, channels along x of the grid, rows along y. The invocation of a
// run's first row is the only one that reads the state of its channels, so with KEEPS it also moves it on: no other waits for it.
#include "common/step.wgsl"

@group(0) @binding(B_STEP) var<storage, read> step: array<u32>;
@group(0) @binding(B_X) var<storage, read_write> x: array<vec4<f32>>;
@group(0) @binding(B_MIX) var<storage, read> mixes: array<vec4<f32>>;
@group(0) @binding(B_STATE) var<storage, read_write> state: array<vec4<f32>>;
@group(0) @binding(B_Y) var<storage, read_write> y: array<vec4<f32>>;
#if BY
@group(0) @binding(B_BY) var<storage, read_write> by: array<vec4<f32>>;
#endif
#include "common/state.wgsl"

fn mixed(row: u32, c: u32, before: vec4<f32>) {
  var m = mixes[MIX_UNIT + c];
#if BY
  m += by[row * BY_STRIDE_UNITS + BY_UNIT + c];
#endif
  let now = x[row * UNITS + c];
  y[row * UNITS + c] = now + (before - now) * m;
}

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  let c = id.x;
  let row = id.y;
  if (c >= UNITS) {
    return;
  }
  if (!begins_run(row)) {
    mixed(row, c, x[(row - 1u) * UNITS + c]);
    return;
  }
  let sequence = step[STEP_SEQUENCES + row];
  let at = sequence * UNITS + c;
  mixed(row, c, select(state[at], vec4<f32>(), step[STEP_POSITIONS + row] == 0u));
#if KEEPS
  var last = row;
  while (in_run(last + 1u, sequence)) {
    last++;
  }
  state[at] = x[last * UNITS + c];
#endif
}
