// The recurrence of Mamba over the rows of a step (scan.h), f32. CHANNELS_EACH channels a workgroup, LANES invocations a channel, PER
// vec4 of its state each, with their a, in registers for a whole run: the state is read once and written once, however many tokens come.
// Channels lie along x of the grid, rows of the step along y; only the workgroup of a run's first row works.
// Tokens go in blocks of BLOCK: each invocation adds up its share of y for the block, then all of them sum the shares of a channel, gate
// and store. So a barrier comes once a block and not once a token.
#include "common/step.wgsl"
#include "common/math.wgsl"
#include "common/softplus.wgsl"

#define WG (CHANNELS_EACH * LANES)
#define VECTORS (N_STATE / 4)

@group(0) @binding(B_STEP) var<storage, read> step: array<u32>;
@group(0) @binding(B_X) var<storage, read_write> x: array<f32>;
@group(0) @binding(B_DT) var<storage, read_write> raw_dt: array<f32>;
@group(0) @binding(B_BC) var<storage, read_write> bc: array<vec4<f32>>;
@group(0) @binding(B_IN) var<storage, read_write> inputs: array<f32>;
@group(0) @binding(B_CONSTANTS) var<storage, read> constants: array<vec4<f32>>;
@group(0) @binding(B_STATE) var<storage, read_write> state: array<vec4<f32>>;
@group(0) @binding(B_Y) var<storage, read_write> y: array<f32>;
#include "common/state.wgsl"

var<workgroup> shares: array<f32, BLOCK * WG>;

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let first_row = workgroup.y;
  if (!begins_run(first_row)) {
    return;
  }
  let sequence = step[STEP_SEQUENCES + first_row];
  let first_channel = workgroup.x * CHANNELS_EACH;
  let lane = local % LANES;
  let wanted = first_channel + local / LANES;
  let channel = min(wanted, N_CHANNELS - 1);
  let a_at = channel * VECTORS + lane;
  let state_at = sequence * N_CHANNELS * VECTORS + a_at;

  var a: array<vec4<f32>, PER>;
  var s: array<vec4<f32>, PER>;
  let fresh = step[STEP_POSITIONS + first_row] == 0u;
  for (var j = 0u; j < PER; j++) {
    a[j] = constants[a_at + j * LANES];
    s[j] = select(state[state_at + j * LANES], vec4<f32>(), fresh);
  }
  for (var block = first_row; in_run(block, sequence); block += BLOCK) {
    for (var i = 0u; i < BLOCK; i++) {
      let t = block + i;
      if (in_run(t, sequence)) {
        let dt = softplus(raw_dt[t * N_CHANNELS + channel]);
        let dx = dt * x[t * N_CHANNELS + channel];
        let b_at = t * 2 * VECTORS + lane;
        var share = 0.0;
        for (var j = 0u; j < PER; j++) {
          s[j] = s[j] * exp(dt * a[j]) + dx * bc[b_at + j * LANES];
          share += dot(s[j], bc[b_at + VECTORS + j * LANES]);
        }
        shares[i * WG + local] = share;
      }
    }
    workgroupBarrier();
    for (var o = local; o < BLOCK * CHANNELS_EACH; o += WG) {
      let t = block + o / CHANNELS_EACH;
      let c = first_channel + o % CHANNELS_EACH;
      if (in_run(t, sequence) && c < N_CHANNELS) {
        var sum = 0.0;
        for (var l = 0u; l < LANES; l++) {
          sum += shares[o * LANES + l];
        }
        let d_at = N_CHANNELS * N_STATE + c;
        let d = constants[d_at / 4u][d_at % 4u];
        y[t * N_CHANNELS + c] = (sum + d * x[t * N_CHANNELS + c]) * silu(inputs[t * IN_STRIDE + Z_COLUMN + c]);
      }
    }
    workgroupBarrier();
  }
  if (wanted < N_CHANNELS) {
    for (var j = 0u; j < PER; j++) {
      state[state_at + j * LANES] = s[j];
    }
  }
}
