// Operands of matrix units (subgroup matrices) in workgroup memory, an array of vec4<u32>: eight elements are one of them as f16, two as
// f32. f32 is for units that add products of f16 up in f16 alone, as Metal's: the values are the same f16 where they come from memory so.
#if MATRIX_F32
alias Operand = f32;
const VECS_OF_EIGHT = 2u;
// STORE_HALVES(tile, at, eight): eight elements that are f16 in memory; STORE_EIGHT(tile, at, a, b): eight as two vec4<f32>.
#define STORE_HALVES(tile, at, eight) tile[at] = first_four(eight); tile[at + 1u] = last_four(eight)
#define STORE_EIGHT(tile, at, a, b) tile[at] = bitcast<vec4<u32>>(a); tile[at + 1u] = bitcast<vec4<u32>>(b)
fn first_four(eight: vec4<u32>) -> vec4<u32> {
  return bitcast<vec4<u32>>(vec4<f32>(unpack2x16float(eight.x), unpack2x16float(eight.y)));
}
fn last_four(eight: vec4<u32>) -> vec4<u32> {
  return bitcast<vec4<u32>>(vec4<f32>(unpack2x16float(eight.z), unpack2x16float(eight.w)));
}
#else
alias Operand = f16;
const VECS_OF_EIGHT = 1u;
#define STORE_HALVES(tile, at, eight) tile[at] = eight
#define STORE_EIGHT(tile, at, a, b) tile[at] = eight_halves(a, b)
#endif
fn eight_halves(a: vec4<f32>, b: vec4<f32>) -> vec4<u32> {
  return vec4<u32>(pack2x16float(a.xy), pack2x16float(a.zw), pack2x16float(b.xy), pack2x16float(b.zw));
}
