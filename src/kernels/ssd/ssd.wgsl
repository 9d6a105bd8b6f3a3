// The recurrence of Mamba-2 over the rows of a step (ssd.h), f32. ROWS_EACH rows of a head's state a workgroup, LANES invocations a
// row, PER vec4 of it each in registers for a whole run: the state is read once and written once, however many tokens come. Heads
// and blocks of rows lie along x of the grid, rows of the step along y; only the workgroup of a run's first row works.
// Tokens go in blocks of BLOCK: each invocation adds up its share of y for the block, then all of them sum the shares of a row, gate
// and store. So a barrier comes once a block and not once a token.
#include "common/step.wgsl"
#include "common/math.wgsl"
#include "common/softplus.wgsl"

#define ROW_BLOCKS ((HEAD_DIM + ROWS_EACH - 1) / ROWS_EACH)
#define WG (ROWS_EACH * LANES)
#define INNER (N_HEADS * HEAD_DIM)
#define XBC_COLUMNS (INNER + 2 * N_GROUPS * N_STATE)

@group(0) @binding(B_STEP) var<storage, read> step: array<u32>;
@group(0) @binding(B_XBC) var<storage, read_write> xbc: array<vec4<f32>>;
@group(0) @binding(B_IN) var<storage, read_write> inputs: array<f32>;
@group(0) @binding(B_CONSTANTS) var<storage, read> constants: array<f32>;
@group(0) @binding(B_STATE) var<storage, read_write> state: array<vec4<f32>>;
@group(0) @binding(B_Y) var<storage, read_write> y: array<f32>;
#include "common/state.wgsl"

var<workgroup> shares: array<f32, BLOCK * WG>;

fn x_at(t: u32, i: u32) -> f32 {
  return xbc[(t * XBC_COLUMNS + i) / 4u][i % 4u];
}

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let first_row = workgroup.y;
  if (!begins_run(first_row)) {
    return;
  }
  let sequence = step[STEP_SEQUENCES + first_row];
  let head = workgroup.x / ROW_BLOCKS;
  let first_p = workgroup.x % ROW_BLOCKS * ROWS_EACH;
  let lane = local % LANES;
  let wanted_p = first_p + local / LANES;
  let p = min(wanted_p, HEAD_DIM - 1);
  let row = head * HEAD_DIM + p;
  let b_at = (INNER + head / (N_HEADS / N_GROUPS) * N_STATE) / 4u + lane;
  let c_at = b_at + N_GROUPS * N_STATE / 4;
  let state_at = (sequence * INNER + row) * (N_STATE / 4) + lane;
  let a = constants[head];
  let d = constants[N_HEADS + head];
  let dt_bias = constants[2 * N_HEADS + head];

  var s: array<vec4<f32>, PER>;
  let fresh = step[STEP_POSITIONS + first_row] == 0u;
  for (var j = 0u; j < PER; j++) {
    s[j] = select(state[state_at + j * LANES], vec4<f32>(), fresh);
  }
  for (var block = first_row; in_run(block, sequence); block += BLOCK) {
    for (var i = 0u; i < BLOCK; i++) {
      let t = block + i;
      if (in_run(t, sequence)) {
        let dt = softplus(inputs[t * IN_STRIDE + DT_COLUMN + head] + dt_bias);
        let decay = exp(dt * a);
        let dx = dt * x_at(t, row);
        let at = t * (XBC_COLUMNS / 4);
        var share = 0.0;
        for (var j = 0u; j < PER; j++) {
          s[j] = s[j] * decay + dx * xbc[at + b_at + j * LANES];
          share += dot(s[j], xbc[at + c_at + j * LANES]);
        }
        shares[i * WG + local] = share;
      }
    }
    workgroupBarrier();
    for (var o = local; o < BLOCK * ROWS_EACH; o += WG) {
      let t = block + o / ROWS_EACH;
      let mine = o % ROWS_EACH;
      if (in_run(t, sequence) && first_p + mine < HEAD_DIM) {
        var sum = 0.0;
        for (var l = 0u; l < LANES; l++) {
          sum += shares[o * LANES + l];
        }
        let i = head * HEAD_DIM + first_p + mine;
        y[t * INNER + i] = (sum + d * x_at(t, i)) * silu(inputs[t * IN_STRIDE + Z_COLUMN + i]);
      }
    }
    workgroupBarrier();
  }
  if (wanted_p < HEAD_DIM) {
    for (var j = 0u; j < PER; j++) {
      state[state_at + j * LANES] = s[j];
    }
  }
}
