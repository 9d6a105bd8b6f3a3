// Attention of a row to the rows right before it (local_attention.h), f32. A workgroup a head of a row, heads along x of the grid, rows along
// y. SHARERS invocations make a score together, then each invocation sums some elements of the values.
#include "common/math.wgsl"

@group(0) @binding(B_Q) var<storage, read_write> q: array<f32>;
@group(0) @binding(B_K) var<storage, read_write> k: array<f32>;
@group(0) @binding(B_V) var<storage, read_write> v: array<f32>;
@group(0) @binding(B_GAMMA) var<storage, read> gamma: array<f32>;
@group(0) @binding(B_FAR) var<storage, read> far: array<f32>;
@group(0) @binding(B_BEFORE) var<storage, read_write> before: array<f32>;
@group(0) @binding(B_Y) var<storage, read_write> y: array<f32>;

var<workgroup> shares: array<f32, WINDOW * SHARERS>;
var<workgroup> scores: array<f32, WINDOW>;

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let row = workgroup.y;
  let first = workgroup.x * HEAD_DIM;  // element of a row
  let n = min(u32(before[row * BEFORE_STRIDE]), WINDOW - 1) + 1u;
  let sharer = local % SHARERS;
  for (var d = local / SHARERS; d < n; d += WG / SHARERS) {
    var sum = 0.0;
    for (var i = sharer; i < HEAD_DIM; i += SHARERS) {
      let key = KEY_SCALE * k[(row - d) * WIDTH + first + i] + far[d * WIDTH + first + i];
      sum += q[row * WIDTH + first + i] * gamma[i] * key;
    }
    shares[d * SHARERS + sharer] = sum;
  }
  workgroupBarrier();
  for (var d = local; d < n; d += WG) {
    var sum = 0.0;
#for s in 0..SHARERS
    sum += shares[d * SHARERS + s##u];
#endfor
    scores[d] = CAP * tanh_exact(sum * SCALE / CAP);
  }
  workgroupBarrier();
  var largest = scores[0];
  for (var d = 1u; d < n; d++) {
    largest = max(largest, scores[d]);
  }
  var total = 0.0;
  for (var d = 0u; d < n; d++) {
    total += exp(scores[d] - largest);
  }
  for (var i = local; i < HEAD_DIM; i += WG) {
    var sum = 0.0;
    for (var d = 0u; d < n; d++) {
      sum += exp(scores[d] - largest) * v[(row - d) * WIDTH + first + i];
    }
    y[row * WIDTH + first + i] = sum / total;
  }
}
