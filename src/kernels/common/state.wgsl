// Runs of rows that share a sequence's state (state.h). Needs common/step.wgsl and the step buffer bound as `step`.

// Whether a run begins at this row.
fn begins_run(row: u32) -> bool {
  return row == 0u || step[STEP_SEQUENCES + row - 1u] != step[STEP_SEQUENCES + row];
}

// Whether this row is one of the step's and of this sequence: with a row of the run before it, of the same run.
fn in_run(row: u32, sequence: u32) -> bool {
  return row < step[STEP_TOKEN_COUNT] && step[STEP_SEQUENCES + min(row, STEP_ROOM - 1u)] == sequence;
}
