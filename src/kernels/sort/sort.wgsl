// The order of a row's elements (sort.h), by counting: an invocation's element goes to the place that is the number of elements before
// it. That is n comparisons each, from workgroup memory, all at once and in one dispatch; rows here are short. Stretches of a row along x
// of the grid, rows along y. f32 bits become u32 keys of the same order, the two zeros one key, NaN the last.

@group(0) @binding(B_X) var<storage, read_write> x: array<u32>;
@group(0) @binding(B_Y) var<storage, read_write> y: array<u32>;

var<workgroup> keys: array<u32, WG>;

fn key_of(bits: u32) -> u32 {
  let magnitude = bits & 0x7fffffffu;
#if DESCENDING
  let key = select(0x80000000u - magnitude, 0x80000000u + magnitude, bits != magnitude);
#else
  let key = select(0x80000000u + magnitude, 0x80000000u - magnitude, bits != magnitude);
#endif
  return select(key, 0xffffffffu, magnitude > 0x7f800000u);
}

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let mine = workgroup.x * WG + local;
  let key = key_of(x[workgroup.y * N + min(mine, N - 1u)]);
  var place = 0u;
  for (var first = 0u; first < N; first += WG) {
    keys[local] = key_of(x[workgroup.y * N + min(first + local, N - 1u)]);
    workgroupBarrier();
    for (var i = 0u; i < min(N - first, WG); i++) {
      let other = keys[i];
      place += select(0u, 1u, other < key || (other == key && first + i < mine));
    }
    workgroupBarrier();
  }
  if (mine < N && place < K) {
    y[workgroup.y * K + place] = mine;
  }
}
