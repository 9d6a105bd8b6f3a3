// Last step of a choice (sample.h): the best part of each output is its id, and the step buffer becomes the next step: row i is the token
// of output i, one position further in the sequence that the output's row was of. Only the first outputs go on, as many as the step says; of
// the others only the ids count. The splits of attention follow the row that sees most, as attention_splits() on the host has it.
#include "common/step.wgsl"
#ifdef PLACES
#include "common/places.wgsl"
#endif

@group(0) @binding(B_STEP) var<storage, read_write> step: array<u32>;
@group(0) @binding(B_PARTS) var<storage, read_write> parts: array<vec2<u32>>;
@group(0) @binding(B_HISTORY) var<storage, read_write> history: array<u32>;
@group(0) @binding(B_IDS) var<storage, read_write> ids: array<u32>;

const LANES = WG / ROWS;  // of an output

var<workgroup> best: array<vec2<u32>, WG>;
var<workgroup> seen: array<u32, ROWS>;

fn better(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  return select(a, b, b.x > a.x || (b.x == a.x && b.y < a.y));
}

@compute @workgroup_size(WG)
fn main(@builtin(local_invocation_index) local: u32) {
  let output = local / LANES;
  let lane = local % LANES;
  let n_outputs = step[STEP_OUTPUT_COUNT];
  let n_go_on = min(step[STEP_GO_ON_COUNT], n_outputs);
  var mine = vec2<u32>(0u, 0xffffffffu);
  if (output < n_outputs) {
    for (var i = lane; i < PARTS; i += LANES) {
      mine = better(mine, parts[output * PARTS + i]);
    }
  }
  best[local] = mine;
  workgroupBarrier();
  for (var half = LANES / 2u; half > 0u; half = half / 2u) {
    if (lane < half) {
      best[local] = better(best[local], best[local + half]);
    }
    workgroupBarrier();
  }
  let row = step[STEP_OUTPUT_ROWS + output];
  let next = step[STEP_POSITIONS + row] + 1u;
  let sequence = step[STEP_SEQUENCES + row];
  if (lane == 0u) {
    seen[output] = select(0u, next + 1u, output < n_go_on);
  }
#ifdef PLACES
  let turn = step[place_at(row, PLACE_NEXT)];
#endif
  let chosen = step[STEP_CHOICES];
  // Everything is read before anything is written.
  workgroupBarrier();
  storageBarrier();
  let choice = best[local].y;
  if (lane == 0u && output < n_outputs) {
    ids[chosen % CHOSEN_STEPS * IDS_STRIDE + output] = choice;
  }
  if (lane == 0u && output < n_go_on) {
    let id = select(choice, 0u, choice == NO_TOKEN);  // what runs on until the host hears of it
    step[STEP_TOKENS + output] = id;
    step[STEP_POSITIONS + output] = next;
    step[STEP_SEQUENCES + output] = sequence;
    step[STEP_OUTPUT_ROWS + output] = output;
#ifdef PLACES
    // A row of text: all coordinates go on alike, and nothing around it is seen.
    for (var i = 0u; i < PLACE_WORDS; i++) { step[place_at(output, i)] = select(0u, turn, i <= PLACE_NEXT); }
#endif
    if (next < CONTEXT) {
      history[sequence * CONTEXT + next] = id;
    }
  }
  if (local == 0u) {
    var most = 0u;
    for (var i = 0u; i < ROWS; i++) { most = max(most, seen[i]); }
    let wanted = select((most + SPLIT_TOKENS - 1u) / SPLIT_TOKENS, 1u, most <= WHOLE_TOKENS);
    step[STEP_SPLIT_COUNT] = min(wanted, max(step[STEP_SPLIT_LIMIT], 1u));
    step[STEP_TOKEN_COUNT] = n_go_on;
    step[STEP_OUTPUT_COUNT] = n_go_on;
    step[STEP_CHOICES] = chosen + 1u;
  }
}
