// Chains decode steps (sample.h): row i's chosen id becomes its next token, its position grows by one, and the ring keeps the id.
#include "common/step.wgsl"

@group(0) @binding(B_STEP) var<storage, read_write> step: array<u32>;
@group(0) @binding(B_IDS) var<storage, read_write> ids: array<u32>;
@group(0) @binding(B_RING) var<storage, read_write> ring: array<u32>;

@compute @workgroup_size(MAX_BATCH)
fn main(@builtin(local_invocation_index) row: u32) {
  if (row < step[STEP_TOKEN_COUNT]) {
    let position = step[STEP_POSITIONS + row];
    ring[position % RING_SIZE * MAX_BATCH + row] = ids[row];
    step[STEP_TOKENS + row] = ids[row];
    step[STEP_POSITIONS + row] = position + 1u;
  }
}
