// An image in another size (image.h). A place is a fraction of two integers, so that it is exact however large the image is, and its whole
// part and the rest come of dividing integers.
#include "image/unit.wgsl"

#if ALIGN
#define PLACE(i, n, out) vec2<i32>((i) * ((n) - 1), max((out) - 1, 1))
#else
#define PLACE(i, n, out) vec2<i32>((2 * (i) + 1) * (n) - (out), 2 * (out))
#endif

// floor(a / b) of b above 0.
fn floor_div(a: i32, b: i32) -> i32 {
  return (a - select(0, b - 1, a < 0)) / b;
}

#if CUBIC
// Weights of the four pixels around a place that is t beyond the second of them (Keys' kernel, a = -3/4).
fn cubic_weights(t: f32) -> vec4<f32> {
  let near = vec2<f32>(t, 1.0 - t);
  let far = near + 1.0;
  let inside = (1.25 * near - 2.25) * near * near + 1.0;
  let outside = ((far - 5.0) * far + 8.0) * far * -0.75 + 3.0;
  return vec4<f32>(outside.x, inside.x, inside.y, outside.y);
}
#endif

fn row_of(i: i32) -> i32 {
  return clamp(i, 0, HEIGHT - 1);
}
fn column_of(j: i32) -> i32 {
  return clamp(j, 0, WIDTH - 1);
}

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  let unit = id.y * SPAN + id.x;
  if (unit >= UNITS) {
    return;
  }
  let inner = unit % INNER;
  let j = unit / INNER % OUT_W;
  let i = unit / (INNER * OUT_W) % OUT_H;
  let outer = unit / (INNER * OUT_W * OUT_H);
#if NEAREST
  y[unit] = pixel(outer, i32(i * HEIGHT / OUT_H), i32(j * WIDTH / OUT_W), inner);
#else
  let down = PLACE(i32(i), HEIGHT, OUT_H);
  let across = PLACE(i32(j), WIDTH, OUT_W);
  let row = floor_div(down.x, down.y);
  let column = floor_div(across.x, across.y);
  let s = f32(down.x - row * down.y) / f32(down.y);
  let t = f32(across.x - column * across.y) / f32(across.y);
#if CUBIC
  var down_weights = cubic_weights(s);
  var across_weights = cubic_weights(t);
  var sum = UNIT();
  for (var p = 0; p < 4; p++) {
    var line = UNIT();
    for (var q = 0; q < 4; q++) {
      line += across_weights[q] * pixel(outer, row_of(row - 1 + p), column_of(column - 1 + q), inner);
    }
    sum += down_weights[p] * line;
  }
  y[unit] = sum;
#else
  let top = mix(pixel(outer, row_of(row), column_of(column), inner), pixel(outer, row_of(row), column_of(column + 1), inner), t);
  let below = mix(pixel(outer, row_of(row + 1), column_of(column), inner), pixel(outer, row_of(row + 1), column_of(column + 1), inner), t);
  y[unit] = mix(top, below, s);
#endif
#endif
}
