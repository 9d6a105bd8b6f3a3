// RMS norm with the additions around it (norm.h). One workgroup of WG invocations a row; each keeps its PER units of the row in
// registers, so that the row is read once. A unit is a vec4 where N divides by 4, else one element. f32 throughout.
// Sum over a workgroup of WG invocations (a power of two), the same value for all of them, and with REDUCES_MAX the largest value; call
// them from uniform control flow.
// With subgroups: each adds up, then every invocation reads the few subgroup sums. Without: a tree in workgroup memory.
var<workgroup> reduce_memory: array<f32, 32>;

fn workgroup_sum(value: f32, local: u32) -> f32 {
  reduce_memory[local] = value;
  workgroupBarrier();
  for (var half = 32 / 2u; half > 0u; half = half / 2u) {
    if (local < half) {
      reduce_memory[local] += reduce_memory[local + half];
    }
    workgroupBarrier();
  }
  let total = reduce_memory[0];
  workgroupBarrier();
  return total;
}

@group(0) @binding(0) var<storage, read_write> x: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read> post_gamma: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read_write> residual: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read> gamma: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read_write> y: array<vec4<f32>>;

fn inverse_rms(squares: f32) -> f32 {
  return inverseSqrt(squares / f32(64) + 9.99999975e-06f);
}

@compute @workgroup_size(32)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let row = workgroup.x * (64 / 4);
  var r: array<vec4<f32>, (((64 / 4) + 32 - 1) / 32)>;
  var squares = 0.0;
  for (var i = 0u; i < (((64 / 4) + 32 - 1) / 32); i++) {
    let unit = local + i * 32;
    if (unit < (64 / 4)) {
      r[i] = x[row + unit];
      squares += dot(r[i], r[i]);
    }
  }

  let post = inverse_rms(workgroup_sum(squares, local));
  squares = 0.0;
  for (var i = 0u; i < (((64 / 4) + 32 - 1) / 32); i++) {
    let unit = local + i * 32;
    if (unit < (64 / 4)) {
      r[i] = r[i] * post * post_gamma[unit];
      squares += dot(r[i], r[i]);
    }
  }

  squares = 0.0;
  for (var i = 0u; i < (((64 / 4) + 32 - 1) / 32); i++) {
    let unit = local + i * 32;
    if (unit < (64 / 4)) {
      r[i] = r[i] + residual[row + unit];
      residual[row + unit] = r[i];
      squares += dot(r[i], r[i]);
    }
  }

  let inverse = inverse_rms(workgroup_sum(squares, local));
  for (var i = 0u; i < (((64 / 4) + 32 - 1) / 32); i++) {
    let unit = local + i * 32;
    if (unit < (64 / 4)) {
      y[row + unit] = r[i] * inverse * gamma[unit];
    }
  }

}
