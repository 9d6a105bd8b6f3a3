// bf16: rows as they are; a vec4 is eight weights, each the upper half of an f32.
#define WEIGHT_FLOAT 1
#define WEIGHT_VEC 8

fn four_weights(a: u32, b: u32) -> vec4<f32> {
  return bitcast<vec4<f32>>(vec4<u32>(a << 16u, a & 0xffff0000u, b << 16u, b & 0xffff0000u));
}

fn load_vec(row: u32, i: u32) -> vec4<u32> {
  return weights[PLANE_ROWS + row * (UNITS * 4u) + i];
}
fn widen(v: vec4<u32>) -> array<vec4<f32>, 2> {
  return array<vec4<f32>, 2>(four_weights(v.x, v.y), four_weights(v.z, v.w));
}
fn decode_vec(row: u32, i: u32) -> array<vec4<f32>, 2> { return widen(load_vec(row, i)); }

fn decode_unit(row: u32, u: u32) -> array<vec4<f32>, 8> {
  var w: array<vec4<f32>, 8>;
#for c in 0..4
  let v##c = decode_vec(row, u * 4u + c);
  w[2 * c] = v##c[0];
  w[2 * c + 1] = v##c[1];
#endfor
  return w;
}
