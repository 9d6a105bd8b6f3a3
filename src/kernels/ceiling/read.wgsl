// Plain reads: each workgroup takes WG * LOADS vectors of 16 bytes, neighbours side by side. Their mix is written only in a case that the
// data never gives, which the compiler cannot know.
@group(0) @binding(B_DATA) var<storage, read> data: array<vec4<u32>>;
@group(0) @binding(B_OUT) var<storage, read_write> out: array<u32>;

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let first = min(wid.y * GRID_X + wid.x, COUNT - 1u) * WG * LOADS + local;
#for i in 0..LOADS
  let v_##i = data[first + i##u * WG];
#endfor
  var mix = vec4<u32>();
#for i in 0..LOADS
  mix ^= v_##i;
#endfor
  if (all(mix == vec4<u32>(0x9e3779b9u))) { out[0] = local; }
}
