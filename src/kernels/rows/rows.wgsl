// Rows by index (rows.h); one unit an invocation, indices along y of the grid.
#if N % 4 == 0
#define UNIT vec4<u32>
#define UNITS (N / 4)
#else
#define UNIT u32
#define UNITS N
#endif

@group(0) @binding(B_X) var<storage, read_write> x: array<UNIT>;
@group(0) @binding(B_INDEX) var<storage, read_write> index: array<u32>;
@group(0) @binding(B_Y) var<storage, read_write> y: array<UNIT>;

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  if (id.x >= UNITS) {
    return;
  }
  // A negative index is a large one here.
  let row = index[id.y];
  let inside = row < INDEXED;
#if PUT
  if (inside) {
    y[row * UNITS + id.x] = x[id.y * UNITS + id.x];
  }
#else
  y[id.y * UNITS + id.x] = select(UNIT(), x[select(0u, row, inside) * UNITS + id.x], inside);
#endif
}
