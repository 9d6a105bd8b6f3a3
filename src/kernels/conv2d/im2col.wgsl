// The inputs of a convolution as rows (conv2d.h): a unit of four columns an invocation where COLUMNS divides by four, else one.
@group(0) @binding(B_X) var<storage, read_write> x: array<f32>;
#if COLUMNS % 4 == 0
@group(0) @binding(B_Y) var<storage, read_write> y: array<vec4<f32>>;
#define ROW_UNITS (COLUMNS / 4)
#else
@group(0) @binding(B_Y) var<storage, read_write> y: array<f32>;
#define ROW_UNITS COLUMNS
#endif

#include "conv2d/input.wgsl"

fn element(row: u32, column: u32) -> f32 {
  let image = row / (OUT_H * OUT_W);
  let i = row / OUT_W % OUT_H;
  let j = row % OUT_W;
  return input_at(image, column / (KERNEL_H * KERNEL_W), i, j, column / KERNEL_W % KERNEL_H, column % KERNEL_W);
}

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  let unit = id.y * SPAN + id.x;
  if (unit >= UNITS) {
    return;
  }
  let row = FIRST_ROW + unit / ROW_UNITS;
#if COLUMNS % 4 == 0
  let column = unit % ROW_UNITS * 4u;
  y[unit] = vec4<f32>(element(row, column), element(row, column + 1u), element(row, column + 2u), element(row, column + 3u));
#else
  y[unit] = element(row, unit % ROW_UNITS);
#endif
}
