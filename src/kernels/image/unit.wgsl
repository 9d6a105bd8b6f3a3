// What passes over images bind and take an invocation: a vec4 of inner elements where they divide by four, else one. INNER counts units.
#if VECTORS
#define UNIT vec4<f32>
#else
#define UNIT f32
#endif

@group(0) @binding(B_X) var<storage, read_write> x: array<UNIT>;
@group(0) @binding(B_Y) var<storage, read_write> y: array<UNIT>;

// A pixel of x.
fn pixel(outer: u32, row: i32, column: i32, inner: u32) -> UNIT {
  return x[((outer * HEIGHT + u32(row)) * WIDTH + u32(column)) * INNER + inner];
}
