// The gated delta rule over the rows of a step (delta.h), f32. COLUMNS_EACH rows S[v] of a head's state a workgroup, LANES
// invocations each, PER vec4 of it an invocation in registers for a whole run: the state is read once and written once, however many
// tokens come. Heads and blocks of values lie along x of the grid, rows of the step along y; only the workgroup of a run's first row
// works.
// What a head's tokens need alike (the lengths of k and q, k . q, decay and beta) is made for BLOCK tokens at once. Then, for each
// token, S . k and S . q are summed together from the old state, for S' . q = decay S . q + step k . q.
#include "common/step.wgsl"
#include "common/math.wgsl"
#include "common/softplus.wgsl"

#define WG (COLUMNS_EACH * LANES)
#define COLUMN_BLOCKS ((VALUE_DIM + COLUMNS_EACH - 1) / COLUMNS_EACH)
#define RATIO (N_VALUE_HEADS / N_KEY_HEADS)
#define KEY_UNITS (KEY_DIM / 4)
#define QKV_UNITS ((2 * N_KEY_HEADS * KEY_DIM + N_VALUE_HEADS * VALUE_DIM) / 4)

@group(0) @binding(B_STEP) var<storage, read> step: array<u32>;
@group(0) @binding(B_QKV) var<storage, read_write> qkv: array<vec4<f32>>;
@group(0) @binding(B_IN) var<storage, read_write> inputs: array<f32>;
@group(0) @binding(B_CONSTANTS) var<storage, read> constants: array<f32>;
@group(0) @binding(B_STATE) var<storage, read_write> state: array<vec4<f32>>;
@group(0) @binding(B_Y) var<storage, read_write> y: array<f32>;
#include "common/state.wgsl"

struct Token {
  k_length: f32,  // 1 / length of k
  q_length: f32,  // 1 / length of q / sqrt(KEY_DIM)
  kq: f32,        // k . q, both as the file has them
  decay: f32,
  beta: f32,
}
var<workgroup> tokens: array<Token, BLOCK>;
var<workgroup> squares: array<vec3<f32>, BLOCK * SUMMERS>;  // shares of k . k, q . q, k . q
var<workgroup> products: array<vec2<f32>, 2 * WG>;          // shares of S . k and S . q, for even and for odd tokens

// The shares of one of SUMMERS invocations in a token's squares.
fn share_of_squares(t: u32, key_head: u32, part: u32) -> vec3<f32> {
  let q_at = t * QKV_UNITS + key_head * KEY_UNITS;
  var sum = vec3<f32>();
  for (var i = part; i < KEY_UNITS; i += SUMMERS) {
    let q = qkv[q_at + i];
    let k = qkv[q_at + N_KEY_HEADS * KEY_UNITS + i];
    sum += vec3<f32>(dot(k, k), dot(q, q), dot(k, q));
  }
  return sum;
}

fn token(t: u32, i: u32, head: u32) -> Token {
  var sum = vec3<f32>();
  for (var part = 0u; part < SUMMERS; part++) {
    sum += squares[i * SUMMERS + part];
  }
  let at = t * IN_STRIDE + head / RATIO * HEAD_STRIDE + head % RATIO;
  let rate = softplus(inputs[at + ALPHA_COLUMN] + constants[N_VALUE_HEADS + head]);
  return Token(inverseSqrt(sum.x + EPS), inverseSqrt(sum.y + EPS) * inverseSqrt(f32(KEY_DIM)), sum.z,
               exp(constants[head] * rate), sigmoid(inputs[at + BETA_COLUMN]));
}

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let first_row = workgroup.y;
  if (!begins_run(first_row)) {
    return;
  }
  let sequence = step[STEP_SEQUENCES + first_row];
  let head = workgroup.x / COLUMN_BLOCKS;
#if TILED
  let key_head = head % N_KEY_HEADS;
#else
  let key_head = head / RATIO;
#endif
  let lane = local % LANES;
  let wanted = workgroup.x % COLUMN_BLOCKS * COLUMNS_EACH + local / LANES;
  let column = head * VALUE_DIM + min(wanted, VALUE_DIM - 1);
  let value_at = 2 * N_KEY_HEADS * KEY_DIM + column;
  let state_at = (sequence * (N_VALUE_HEADS * VALUE_DIM) + column) * KEY_UNITS + lane;

  var s: array<vec4<f32>, PER>;
  let fresh = step[STEP_POSITIONS + first_row] == 0u;
  for (var j = 0u; j < PER; j++) {
    s[j] = select(state[state_at + j * LANES], vec4<f32>(), fresh);
  }
  for (var block = first_row; in_run(block, sequence); block += BLOCK) {
    if (local < BLOCK * SUMMERS && in_run(block + local / SUMMERS, sequence)) {
      squares[local] = share_of_squares(block + local / SUMMERS, key_head, local % SUMMERS);
    }
    workgroupBarrier();
    if (local < BLOCK && in_run(block + local, sequence)) {
      tokens[local] = token(block + local, local, head);
    }
    workgroupBarrier();
    for (var i = 0u; i < BLOCK; i++) {
      let t = block + i;
      if (!in_run(t, sequence)) {
        break;
      }
      let now = tokens[i];
      let q_at = t * QKV_UNITS + key_head * KEY_UNITS + lane;
      let k_at = q_at + N_KEY_HEADS * KEY_UNITS;
      var share = vec2<f32>();
      for (var j = 0u; j < PER; j++) {
        share += vec2<f32>(dot(s[j], qkv[k_at + j * LANES]), dot(s[j], qkv[q_at + j * LANES]));
      }
      let half = i % 2u * WG;
      products[half + local] = share;
      workgroupBarrier();
      var sum = vec2<f32>();
      for (var l = 0u; l < LANES; l++) {
        sum += products[half + local - lane + l];
      }
      let value = qkv[t * QKV_UNITS + value_at / 4u][value_at % 4u];
      let change = now.beta * (value - now.decay * sum.x * now.k_length) * now.k_length;
      for (var j = 0u; j < PER; j++) {
        s[j] = s[j] * now.decay + change * qkv[k_at + j * LANES];
      }
      if (lane == 0u && wanted < VALUE_DIM) {
        y[t * (N_VALUE_HEADS * VALUE_DIM) + column] = (now.decay * sum.y + change * now.kq) * now.q_length;
      }
    }
    workgroupBarrier();
  }
  if (wanted < VALUE_DIM) {
    for (var j = 0u; j < PER; j++) {
      state[state_at + j * LANES] = s[j];
    }
  }
}
