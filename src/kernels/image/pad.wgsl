// An image with more around it (image.h).
#include "image/unit.wgsl"

// Where index i along an axis of n falls; itself when inside.
fn folded(i: i32, n: i32) -> i32 {
#if REFLECT
  return n - 1 - abs(n - 1 - abs(i));
#elif WRAP
  return (i + n) % n;
#else
  return clamp(i, 0, n - 1);
#endif
}

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  let unit = id.y * SPAN + id.x;
  if (unit >= UNITS) {
    return;
  }
  let inner = unit % INNER;
  let j = i32(unit / INNER % OUT_W) - LEFT;
  let i = i32(unit / (INNER * OUT_W) % OUT_H) - TOP;
  let outer = unit / (INNER * OUT_W * OUT_H);
  let row = folded(i, HEIGHT);
  let column = folded(j, WIDTH);
  let value = pixel(outer, row, column, inner);
#if BY_VALUE
  y[unit] = select(UNIT(VALUE), value, row == i && column == j);
#else
  y[unit] = value;
#endif
}
