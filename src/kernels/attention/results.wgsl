// Where the result of a row and head goes, four elements at a time: [row][head][V_VECTORS] in f32, or with HANDS_BYTES as the int8 that the
// product after it reads (matmul/activations.wgsl). For bytes eight neighbouring invocations bring a unit of 32 elements, in order.
#if HANDS_BYTES
@group(0) @binding(B_OUT) var<storage, read_write> out: array<vec4<u32>>;
#include "matmul/activations.wgsl"
#include "matmul/quantize_unit.wgsl"
const OUT_UNITS = u32(N_HEADS * V_VECTORS / 8);

fn keep_result(row_head: u32, vector: u32, result: vec4<f32>) {
  let eighth = eighth_of_unit(result);
  let row = row_head / N_HEADS;
  let unit = row_head % N_HEADS * (V_VECTORS / 8u) + vector / 8u;
  if (vector % 4u == 0u) { out[(row * 2u + vector / 4u % 2u) * OUT_UNITS + unit] = eighth.words; }
  if (vector % 8u == 0u) {
    out[(MAX_ROWS * 2u + row) * OUT_UNITS + unit] = bitcast<vec4<u32>>(bytes_header(eighth.scale, eighth.sums));
  }
}
#else
@group(0) @binding(B_OUT) var<storage, read_write> out: array<vec4<f32>>;

fn keep_result(row_head: u32, vector: u32, result: vec4<f32>) { out[row_head * V_VECTORS + vector] = result; }
#endif
