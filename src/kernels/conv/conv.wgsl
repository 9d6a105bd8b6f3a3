// Causal depthwise convolution with state (conv.h). One channel an invocation, channels along x of the grid, rows along y; f32.
//   WHOLE_RUN   the invocation at the first row of a run walks over the run and then moves the state on
//   ONE_ROW     every row by itself; the state is only read
//   STATE_ONLY  the invocation at the last row of a run moves the state on
// With the state read in one dispatch and written in the next, the rows of a chunk need not wait for each other.
#include "common/step.wgsl"
#include "common/math.wgsl"

#define PAST (TAPS - 1)

@group(0) @binding(B_STEP) var<storage, read> step: array<u32>;
@group(0) @binding(B_X) var<storage, read_write> x: array<f32>;
@group(0) @binding(B_STATE) var<storage, read_write> state: array<f32>;
#if !STATE_ONLY
@group(0) @binding(B_WEIGHTS) var<storage, read> weights: array<f32>;
@group(0) @binding(B_Y) var<storage, read_write> y: array<f32>;
#endif
#include "common/state.wgsl"

fn input(row: u32, c: u32) -> f32 {
  let at = row * X_STRIDE + X_COLUMN + c;
#if GATED
  return x[at] * x[at + 2 * CHANNELS];
#else
  return x[at];
#endif
}

// The input `back` rows before `row`, of which `known` are rows of this step's run: from there, from the state, or 0 before
// position 0.
fn earlier(row: u32, back: u32, known: u32, c: u32) -> f32 {
  if (back <= known) {
    return input(row - back, c);
  }
  if (back > step[STEP_POSITIONS + row]) {
    return 0.0;
  }
  return state[(step[STEP_SEQUENCES + row] * PAST + PAST - (back - known)) * CHANNELS + c];
}

// How many rows right before `row` belong to its run; counted up to PAST.
fn known_rows(row: u32) -> u32 {
  var n = 0u;
  while (n < PAST && n < row && step[STEP_SEQUENCES + row - n - 1u] == step[STEP_SEQUENCES + row]) {
    n++;
  }
  return n;
}

#if !STATE_ONLY
fn output(row: u32, c: u32, window: array<f32, TAPS>) -> f32 {
  var sum = 0.0;
#for k in 0..TAPS
  sum += weights[c * TAPS + k##u] * window[k];
#endfor
#if BIAS
  sum += weights[CHANNELS * TAPS + c];
#endif
#if SILU
  sum = silu(sum);
#endif
#if GATED
  sum *= x[row * X_STRIDE + X_COLUMN + CHANNELS + c];
#endif
  return sum;
}
#endif

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  let c = id.x;
  let row = id.y;
  if (c >= CHANNELS) {
    return;
  }
  let sequence = step[STEP_SEQUENCES + row];
#if WHOLE_RUN
  if (!begins_run(row)) {
    return;
  }
  var window: array<f32, TAPS>;
#for k in 0..PAST
  window[k + 1] = earlier(row, PAST - k##u, 0u, c);
#endfor
  for (var t = row; in_run(t, sequence); t++) {
#for k in 0..PAST
    window[k] = window[k + 1];
#endfor
    window[PAST] = input(t, c);
    y[t * CHANNELS + c] = output(t, c, window);
  }
#for k in 0..PAST
  state[(sequence * PAST + k##u) * CHANNELS + c] = window[k + 1];
#endfor
#elif ONE_ROW
  let known = known_rows(row);
  var window: array<f32, TAPS>;
#for k in 0..TAPS
  window[k] = earlier(row, PAST - k##u, known, c);
#endfor
  y[row * CHANNELS + c] = output(row, c, window);
#else
  if (in_run(row + 1u, sequence)) {
    return;
  }
  let known = known_rows(row);
  var window: array<f32, PAST>;
#for k in 0..PAST
  window[k] = earlier(row, PAST - 1u - k##u, known, c);
#endfor
#for k in 0..PAST
  state[(sequence * PAST + k##u) * CHANNELS + c] = window[k];
#endfor
#endif
}
