// Chains decode steps (sample.h): row i's chosen id becomes its next token, and its position grows by one.
#include "common/step.wgsl"

@group(0) @binding(B_STEP) var<storage, read_write> step: array<u32>;
@group(0) @binding(B_IDS) var<storage, read_write> ids: array<u32>;

@compute @workgroup_size(MAX_BATCH)
fn main(@builtin(local_invocation_index) row: u32) {
  if (row < step[STEP_TOKEN_COUNT]) {
    step[STEP_TOKENS + row] = ids[row];
    step[STEP_POSITIONS + row] += 1u;
  }
}
