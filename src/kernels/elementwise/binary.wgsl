// y = y op x (binary.h), in place on y; one unit an invocation, rows along y of the grid.
#include "elementwise/unit.wgsl"

#if SPREAD_COLUMN || SPREAD_ONE
@group(0) @binding(B_X) var<storage, ACCESS> x : array<f32>;
#else
@group(0) @binding(B_X) var<storage, ACCESS> x : array<UNIT>;
#endif
@group(0) @binding(B_Y) var<storage, read_write> y : array<UNIT>;

@compute @workgroup_size(WG) fn main(@builtin(global_invocation_id) id : vec3<u32>) {
  if (id.x >= UNITS) {
    return;
  }
#if SPREAD_ROW
  let by = x[id.x];
#elif SPREAD_COLUMN
  let by = UNIT(x[id.y]);
#elif SPREAD_ONE
  let by = UNIT(x[0]);
#else
  let by = x[(id.y * N_PARTS + PART) * UNITS + id.x];
#endif
  let i = id.y * UNITS + id.x;
  y[i] = OPERATION;
}
