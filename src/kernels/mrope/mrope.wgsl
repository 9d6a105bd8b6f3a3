// Rotary positions of several coordinates (mrope.h), in place: a pair of a head an invocation, rows along y of the grid.
#include "rope/turn.wgsl"

#define PAIRS (N_ROT / 2)

@group(0) @binding(B_TABLE) var<storage, read> table: array<vec4<u32>>;  // turns a position (two words), section, 0
@group(0) @binding(B_POSITIONS) var<storage, POSITIONS_ACCESS> positions: array<u32>;
@group(0) @binding(B_Y) var<storage, read_write> y: array<f32>;

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  if (id.x >= N) {
    return;
  }
  let pair = id.x % PAIRS;
  let head = id.y * Y_STRIDE + id.x / PAIRS * HEAD_DIM;
#if NEOX
  let first = head + pair;
  let second = first + PAIRS;
#else
  let first = head + 2u * pair;
  let second = first + 1u;
#endif
  let entry = table[pair];
  let angle = turn(positions[id.y * 4u + entry.z], entry.xy);
  let a = y[first];
  let b = y[second];
  y[first] = a * angle.x - b * angle.y;
  y[second] = b * angle.x + a * angle.y;
}
