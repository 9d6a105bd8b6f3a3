// Further elements of rows of media (add_media.h): an element an invocation, rows along y of the grid.
#include "common/step.wgsl"

@group(0) @binding(B_STEP) var<storage, read> step: array<u32>;
@group(0) @binding(B_MEDIA) var<storage, read> media: array<f32>;
@group(0) @binding(B_X) var<storage, read_write> x: array<f32>;

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  // Ids below zero are those from the sign bit on.
  let token = step[STEP_TOKENS + id.y];
  if (id.x >= N || token < 0x80000000u) { return; }
  x[id.y * N + id.x] += media[~token * COLUMNS + FIRST + id.x];
}
