// f32: rows as they are; a vec4 is four weights.
#define WEIGHT_FLOAT 1
#define WEIGHT_VEC 4

fn load_vec(row: u32, i: u32) -> vec4<u32> {
  return weights[PLANE_ROWS + row * (UNITS * 8u) + i];
}
fn widen(v: vec4<u32>) -> array<vec4<f32>, 1> { return array<vec4<f32>, 1>(bitcast<vec4<f32>>(v)); }
fn decode_vec(row: u32, i: u32) -> array<vec4<f32>, 1> { return widen(load_vec(row, i)); }

fn decode_unit(row: u32, u: u32) -> array<vec4<f32>, 8> {
  var w: array<vec4<f32>, 8>;
#for c in 0..8
  w[c] = decode_vec(row, u * 8u + c)[0];
#endfor
  return w;
}
