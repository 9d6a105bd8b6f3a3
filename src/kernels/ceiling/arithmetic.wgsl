// Peak arithmetic: CHAINS independent chains of multiply-adds in registers, with operands that the compiler does not know. The sum of all
// is written only in a case that does not come up.
//   INT8 1: sum = dot4I8Packed(sum, x) + sum      INT8 0: sum = fma(sum, x, y) on vectors of four NUMBERs
@group(0) @binding(B_DATA) var<storage, read> data: array<vec4<u32>>;
@group(0) @binding(B_OUT) var<storage, read_write> out: array<u32>;

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let seed = data[local];
#if INT8
  let x = seed.x;
#for c in 0..CHAINS
  var sum_##c = i32(seed.y) + c;
#endfor
#else
  // |x| < 1, so that chains neither grow nor vanish.
  let x = vec4<NUMBER>(vec4<f32>(seed & vec4<u32>(0xffu)) * 0.001 + 0.5);
  let y = vec4<NUMBER>(vec4<f32>(seed >> vec4<u32>(24u)) * 0.001);
#for c in 0..CHAINS
  var sum_##c = y + vec4<NUMBER>(NUMBER(c));
#endfor
#endif
  for (var i = 0u; i < LOOPS; i++) {
#for unrolled in 0..4
#for c in 0..CHAINS
#if INT8
    sum_##c += dot4I8Packed(bitcast<u32>(sum_##c), x);
#else
    sum_##c = fma(sum_##c, x, y);
#endif
#endfor
#endfor
  }
#if INT8
  var total = 0;
#for c in 0..CHAINS
  total ^= sum_##c;
#endfor
  if (total == 0x1e3779b9) { out[0] = local; }
#else
  var total = vec4<NUMBER>();
#for c in 0..CHAINS
  total += sum_##c;
#endfor
  if (f32(total.x + total.y + total.z + total.w) == -1.0) { out[0] = local; }
#endif
}
