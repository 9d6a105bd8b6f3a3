// x as int8 in the scratch slice (activations.wgsl); an invocation takes one unit of one row. Neighbours take what lies
// side by side in the scratch: units, or rows with X8_BY_UNIT.
#include "common/step.wgsl"

@group(0) @binding(B_STEP) var<storage, read> step: array<u32>;
#include "matmul/activations.wgsl"

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
#if X8_BY_UNIT
  let u = id.y;
  let m = id.x;
#else
  let u = id.x;
  let m = id.y;
#endif
#ifdef X_SLOTS
  if (u >= UNITS || m >= step[ROW_COUNT] * X_SLOTS) { return; }
#else
  if (u >= UNITS || m >= step[ROW_COUNT]) { return; }
#endif
  let v = unit_of_x(m, u);
  let q = quantize(v);
  store(m * X_PLANES, u, q);
#if X_PLANES == 2
  store(m * X_PLANES + 1u, u, quantize(left_of(v, q)));
#endif
}

fn store(row: u32, u: u32, q: Quantized) {
  x8[x8_half(row, u, 0u)] = q.lo;
  x8[x8_half(row, u, 1u)] = q.hi;
  x8[x8_header(row, u)] = bitcast<vec4<u32>>(bytes_header(q.scale, q.sums));
}
