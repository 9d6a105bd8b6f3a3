// Elementwise passes (elementwise.h), in place on y; one unit an invocation, rows along y of the grid.
#include "common/math.wgsl"
#include "elementwise/unit.wgsl"

@group(0) @binding(B_Y) var<storage, read_write> y: array<UNIT>;
#ifdef B_X
#if defined(GATES) && GATES == 1
@group(0) @binding(B_X) var<storage, read_write> x: array<f32>;
#else
@group(0) @binding(B_X) var<storage, read_write> x: array<UNIT>;
#endif
#endif
#ifdef B_BY
@group(0) @binding(B_BY) var<storage, read> by: array<f32>;
#endif

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  if (id.x >= UNITS) {
    return;
  }
  let i = id.y * UNITS + id.x;
#if defined(GATES)
#if GATES == 1
  y[i] = y[i] * sigmoid(x[id.y]);
#else
  let by = x[i];
  y[i] = y[i] * EACH(sigmoid, by);
#endif
#elif defined(SCALE)
  y[i] = y[i] * SCALE;
#elif defined(B_BY)
  y[i] = y[i] * by[0];
#elif defined(CAP)
  let v = y[i] / CAP;
  y[i] = CAP * EACH(tanh_exact, v);
#else
  // x holds the gate in its first N columns, up in its last.
  let gate = x[i + id.y * UNITS];
  let up = x[i + (id.y + 1u) * UNITS];
  y[i] = EACH(ACTIVATION, gate) * up;
#endif
}
