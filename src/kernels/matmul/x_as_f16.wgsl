// x as f16 in the scratch slice (common/x16.h), for gemm_matrix.wgsl; a workgroup takes a row.
#include "common/step.wgsl"

@group(0) @binding(B_STEP) var<storage, read> step: array<u32>;
@group(0) @binding(B_X16) var<storage, read_write> x16: array<vec4<u32>>;
#include "matmul/activations.wgsl"
#include "common/x16.wgsl"

var<workgroup> peaks: array<f32, WG>;

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let m = wid.x;
  var peak = 0.0;
  for (var i = local; i < UNITS * 8u; i += WG) {
    let a = abs(load_x(m, i * 4u));
    peak = max(peak, max(max(a.x, a.y), max(a.z, a.w)));
  }
  peaks[local] = peak;
  for (var half = WG / 2u; half > 0u; half = half / 2u) {
    workgroupBarrier();
    if (local < half) { peaks[local] = max(peaks[local], peaks[local + half]); }
  }
  workgroupBarrier();
  let exponent = x16_exponent(peaks[0]);
  let scale = x16_scale(exponent);
  for (var i = local; i < UNITS * 4u; i += WG) {
    let a = load_x(m, i * 8u) * scale;
    let b = load_x(m, i * 8u + 4u) * scale;
    x16[m * (UNITS * 4u) + i] = vec4<u32>(pack2x16float(a.xy), pack2x16float(a.zw), pack2x16float(b.xy), pack2x16float(b.zw));
  }
  if (local == 0u) { x16[X16_ROWS * UNITS * 4u + m] = vec4<u32>(exponent); }
}
