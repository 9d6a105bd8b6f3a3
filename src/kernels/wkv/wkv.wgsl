// The recurrence of RWKV over the rows of a step (wkv.h), f32. A head a workgroup, LANES invocations each row of its state, PER vec4 of it
// an invocation in registers for a whole run: the state is read once and written once, however many tokens come. Heads lie along x of the
// grid, rows of the step along y; only the workgroup of a run's first row works.
// What the rows of a head need alike of a token is made for BLOCK tokens at once: its vectors, then the sums over them. Then, for each
// token, S u and S (d r) are summed together from the old state, for S' r = S (d r) + change (rate u . r) + v (k . r), which takes one
// barrier a token.
#include "common/step.wgsl"
#include "common/math.wgsl"

#define WG (HEAD_DIM * LANES)
#define HEAD_UNITS (HEAD_DIM / 4)
#define N_UNITS (N_HEADS * HEAD_UNITS)

@group(0) @binding(B_STEP) var<storage, read> step: array<u32>;
@group(0) @binding(B_IN) var<storage, read_write> inputs: array<vec4<f32>>;
@group(0) @binding(B_VALUES) var<storage, read_write> values: array<f32>;
@group(0) @binding(B_CONSTANTS) var<storage, read> constants: array<vec4<f32>>;
@group(0) @binding(B_STATE) var<storage, read_write> state: array<vec4<f32>>;
@group(0) @binding(B_Y) var<storage, read_write> y: array<f32>;
#if SEVEN
@group(0) @binding(B_EXTRA) var<storage, read_write> extra: array<f32>;
#endif
#include "common/state.wgsl"

var<workgroup> receptances: array<vec4<f32>, BLOCK * HEAD_UNITS>;
var<workgroup> keys: array<vec4<f32>, BLOCK * HEAD_UNITS>;
var<workgroup> decays: array<vec4<f32>, BLOCK * HEAD_UNITS>;
#if SEVEN
var<workgroup> removed: array<vec4<f32>, BLOCK * HEAD_UNITS>;  // u before it is divided by its length
var<workgroup> rates: array<vec4<f32>, BLOCK * HEAD_UNITS>;    // rate * removed
#endif
var<workgroup> sums: array<vec4<f32>, BLOCK>;      // bonus; then 1 / length^2 of u, k . r, rates . r
var<workgroup> products: array<vec2<f32>, 2 * WG>;  // shares of S u and S (d r), for even and for odd tokens

fn sigmoid4(z: vec4<f32>) -> vec4<f32> {
  return vec4<f32>(sigmoid(z.x), sigmoid(z.y), sigmoid(z.z), sigmoid(z.w));
}

// Unit `unit` of the row, which is that of head columns `column` of the model's, of token t at place `at` of the block.
fn prepare(t: u32, column: u32, at: u32) {
  let in_at = t * IN_UNITS + column;
  let k = inputs[in_at + N_UNITS];
  let w = constants[column] + inputs[in_at + 2u * N_UNITS];
  receptances[at] = inputs[in_at];
#if SEVEN
  let rate = sigmoid4(constants[2u * N_UNITS + column] + inputs[in_at + 3u * N_UNITS]);
  let u = k * constants[3u * N_UNITS + column];
  removed[at] = u;
  rates[at] = rate * u;
  keys[at] = k * (1.0 + (rate - 1.0) * constants[4u * N_UNITS + column]);
  decays[at] = exp(-MOST_DECAY * sigmoid4(w));
#else
  keys[at] = k;
  decays[at] = exp(-exp(min(w, vec4<f32>(80.0))));
#endif
}

// The sums of the token at place i of the block.
fn sum_up(i: u32, head: u32) -> vec4<f32> {
  var sum = vec4<f32>();
  for (var unit = 0u; unit < HEAD_UNITS; unit++) {
    let at = i * HEAD_UNITS + unit;
    let r = receptances[at];
    let bonus = constants[N_UNITS + head * HEAD_UNITS + unit];
    sum.x += dot(bonus * r, keys[at]);
#if SEVEN
    sum.y += dot(removed[at], removed[at]);
    sum.z += dot(keys[at], r);
    sum.w += dot(rates[at], r);
#endif
  }
#if SEVEN
  let scale = 1.0 / max(sqrt(sum.y), LEAST_LENGTH);
  sum.y = scale * scale;
#endif
  return sum;
}

fn value_of(t: u32, column: u32) -> f32 {
  let value = values[t * (N_HEADS * HEAD_DIM) + column];
#if MIXES_VALUES
  let at = t * IN_UNITS + 4u * N_UNITS + column / 4u;
  let own = inputs[at][column % 4u];
  let mix = constants[5u * N_UNITS + column / 4u][column % 4u] + inputs[at + N_UNITS][column % 4u];
  return own + (value - own) * sigmoid(mix);
#else
  return value;
#endif
}

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let first_row = workgroup.y;
  if (!begins_run(first_row)) {
    return;
  }
  let sequence = step[STEP_SEQUENCES + first_row];
  let head = workgroup.x;
  let lane = local % LANES;
  let column = head * HEAD_DIM + local / LANES;
  let state_at = (sequence * (N_HEADS * HEAD_DIM) + column) * HEAD_UNITS + lane;

  var s: array<vec4<f32>, PER>;
  let fresh = step[STEP_POSITIONS + first_row] == 0u;
  for (var j = 0u; j < PER; j++) {
    s[j] = select(state[state_at + j * LANES], vec4<f32>(), fresh);
  }
  for (var block = first_row; in_run(block, sequence); block += BLOCK) {
    for (var at = local; at < BLOCK * HEAD_UNITS; at += WG) {
      if (in_run(block + at / HEAD_UNITS, sequence)) {
        prepare(block + at / HEAD_UNITS, head * HEAD_UNITS + at % HEAD_UNITS, at);
      }
    }
    workgroupBarrier();
    for (var i = local; i < BLOCK; i += WG) {
      if (in_run(block + i, sequence)) {
        sums[i] = sum_up(i, head);
      }
    }
    workgroupBarrier();
    for (var i = 0u; i < BLOCK; i++) {
      let t = block + i;
      if (!in_run(t, sequence)) {
        break;
      }
      let now = sums[i];
      let at = i * HEAD_UNITS + lane;
      var share = vec2<f32>();
      for (var j = 0u; j < PER; j++) {
        let unit = at + j * LANES;
#if SEVEN
        share += vec2<f32>(dot(s[j], removed[unit]), dot(s[j], decays[unit] * receptances[unit]));
#else
        share.y += dot(s[j], receptances[unit]);
#endif
      }
      let half = i % 2u * WG;
      products[half + local] = share;
      workgroupBarrier();
      var sum = vec2<f32>();
      for (var l = 0u; l < LANES; l++) {
        sum += products[half + local - lane + l];
      }
      let value = value_of(t, column);
#if SEVEN
      let change = -sum.x * now.y;
#endif
      for (var j = 0u; j < PER; j++) {
        let unit = at + j * LANES;
#if SEVEN
        s[j] = s[j] * decays[unit] + change * rates[unit] + value * keys[unit];
#else
        s[j] = s[j] * decays[unit] + value * keys[unit];
#endif
      }
      if (lane == 0u) {
        let y_at = t * (N_HEADS * HEAD_DIM) + column;
#if SEVEN
        y[y_at] = sum.y + change * now.w + value * now.z;
        extra[y_at] = value * now.x;
#else
        y[y_at] = sum.y + value * now.x;
#endif
      }
    }
    workgroupBarrier();
  }
  for (var j = 0u; j < PER; j++) {
    state[state_at + j * LANES] = s[j];
  }
}
