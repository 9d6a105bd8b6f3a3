// The Walsh-Hadamard transform (hadamard.h): log2(N) rounds of sums and differences of pairs in workgroup memory. A workgroup of WG
// invocations a part; parts along x of the grid, rows along y.
@group(0) @binding(B_Y) var<storage, read_write> y: array<f32>;

var<workgroup> v: array<f32, N>;

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let first = (workgroup.y * N_PARTS + workgroup.x) * N;
  for (var i = local; i < N; i += WG) {
    v[i] = y[first + i];
  }
  workgroupBarrier();
  for (var reach = 1u; reach < N; reach = reach * 2u) {
    for (var pair = local; pair < N / 2u; pair += WG) {
      let i = pair / reach * reach * 2u + pair % reach;
      let a = v[i];
      let b = v[i + reach];
      v[i] = a + b;
      v[i + reach] = a - b;
    }
    workgroupBarrier();
  }
  for (var i = local; i < N; i += WG) {
    y[first + i] = v[i] * SCALE;
  }
}
