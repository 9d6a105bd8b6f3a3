// Chains decode steps (sample.h): row i's chosen id becomes its next token, its position grows by one, and the splits of attention
// follow the row that sees most, as attention_splits() on the host has it.
#include "common/step.wgsl"

@group(0) @binding(B_STEP) var<storage, read_write> step: array<u32>;
@group(0) @binding(B_IDS) var<storage, read_write> ids: array<u32>;

var<workgroup> seen: array<u32, MAX_BATCH>;

@compute @workgroup_size(MAX_BATCH)
fn main(@builtin(local_invocation_index) row: u32) {
  seen[row] = 0u;
  if (row < step[STEP_TOKEN_COUNT]) {
    let next = step[STEP_POSITIONS + row] + 1u;
    step[STEP_TOKENS + row] = ids[row];
    step[STEP_POSITIONS + row] = next;
    seen[row] = next + 1u;
  }
  workgroupBarrier();
  if (row == 0u) {
    var most = 0u;
    for (var i = 0u; i < MAX_BATCH; i++) { most = max(most, seen[i]); }
    let wanted = select((most + SPLIT_TOKENS - 1u) / SPLIT_TOKENS, 1u, most <= WHOLE_TOKENS);
    step[STEP_SPLIT_COUNT] = min(wanted, max(step[STEP_SPLIT_LIMIT], 1u));
  }
}
