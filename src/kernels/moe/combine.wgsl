// Adds the results of a row's experts up (moe.h): y[t] = sum over slots of parts[t * CHOSEN + slot] + weight * bias of the expert; with ADD
// onto y. An invocation takes four elements of a row; parts are multiplied by their weights already.
@group(0) @binding(B_PARTS) var<storage, read_write> parts: array<vec4<f32>>;
@group(0) @binding(B_Y) var<storage, read_write> y: array<vec4<f32>>;
#ifdef B_BIAS
@group(0) @binding(B_BIAS) var<storage, read> bias: array<vec4<f32>>;
@group(0) @binding(B_ROUTES) var<storage, read> routes: array<u32>;
#endif

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  if (id.x >= VECTORS) { return; }
  let row = id.y;
#ifdef ADD
  var sum = y[row * VECTORS + id.x];
#else
  var sum = vec4<f32>();
#endif
  for (var slot = 0u; slot < CHOSEN; slot++) {
    sum += parts[(row * CHOSEN + slot) * VECTORS + id.x];
#ifdef B_BIAS
    let weight = bitcast<f32>(routes[(row * 2u + 1u) * CHOSEN + slot]);
    sum += weight * bias[routes[row * 2u * CHOSEN + slot] * VECTORS + id.x];
#endif
  }
  y[row * VECTORS + id.x] = sum;
}
