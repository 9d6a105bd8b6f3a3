// Adds up what the workgroups that shared K have left of a product (gemm_matrix.wgsl), and finishes it. An invocation has one output.
#include "common/step.wgsl"

@group(0) @binding(B_STEP) var<storage, read> step: array<u32>;
@group(0) @binding(B_X16) var<storage, read_write> x16: array<vec4<u32>>;
@group(0) @binding(B_PARTIALS) var<storage, read_write> partials: array<f32>;
@group(0) @binding(B_Y) var<storage, read_write> y: array<f32>;
#include "matmul/epilogue.wgsl"

fn sum_of(m: u32, n: u32) -> f32 {
  var sum = 0.0;
#for s in 0..SPLITS
  sum += partials[(s * X16_ROWS + m) * ROWS + n];
#endfor
  return sum;
}

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  let m = id.y;
  // Rows of x were divided by a power of two where f16 asked for it (x_as_f16.wgsl).
  let scale = bitcast<f32>((127u + x16[X16_ROWS * (UNITS * 4u) + m].x) << 23u);
#ifdef GATE
  // Groups of four: gate, up, gate, up.
  if (id.x >= ROWS / 2u) { return; }
  let n = id.x / 4u * 8u + id.x % 4u;
  finish_gated(m, id.x, sum_of(m, n) * scale, sum_of(m, n + 4u) * scale);
#else
  if (id.x >= ROWS) { return; }
  finish(m, id.x, sum_of(m, id.x) * scale);
#endif
}
