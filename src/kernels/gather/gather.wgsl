// y[i, :] = x[output row i, :] (gather.h); one unit an invocation, outputs along y of the grid.
#include "common/step.wgsl"

#if N % 4 == 0
#define UNIT vec4<f32>
#define UNITS (N / 4)
#else
#define UNIT f32
#define UNITS N
#endif

@group(0) @binding(B_STEP) var<storage, read> step: array<u32>;
@group(0) @binding(B_X) var<storage, read_write> x: array<UNIT>;
@group(0) @binding(B_Y) var<storage, read_write> y: array<UNIT>;

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  if (id.x < UNITS) {
    y[id.y * UNITS + id.x] = x[step[STEP_OUTPUT_ROWS + id.y] * UNITS + id.x];
  }
}
