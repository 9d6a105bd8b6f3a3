// The experts of a row and their shares (route.h); a workgroup takes a row. An expert's place among all is how many others come before it,
// counted by one invocation in workgroup memory; that of a group likewise. f32 throughout.
#include "common/math.wgsl"

@group(0) @binding(B_LOGITS) var<storage, read_write> logits: array<f32>;
@group(0) @binding(B_ROUTES) var<storage, read_write> routes: array<u32>;
#ifdef B_SELECTION_BIAS
@group(0) @binding(B_SELECTION_BIAS) var<storage, read> selection_bias: array<f32>;
#endif

const NEVER = -3.0e38;
var<workgroup> scores: array<f32, EXPERTS>;
var<workgroup> choice: array<f32, EXPERTS>;  // what experts are chosen by
var<workgroup> chosen: array<u32, CHOSEN>;
#if GROUPS > 1
const GROUP_SIZE = EXPERTS / GROUPS;
var<workgroup> worth: array<f32, GROUPS>;
#endif

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  for (var e = local; e < EXPERTS; e += WG) {
    var score = logits[wid.x * EXPERTS + e];
#if SIGMOID
    score = sigmoid(score);
#endif
    scores[e] = score;
  }
  // So that no slot is left open, whatever the comparisons of NaN say.
  for (var i = local; i < CHOSEN; i += WG) { chosen[i] = i; }
  workgroupBarrier();
#if SOFTMAX
  var largest = NEVER;
  for (var e = 0u; e < EXPERTS; e++) { largest = max(largest, scores[e]); }
  var total = 0.0;
  for (var e = 0u; e < EXPERTS; e++) { total += exp(scores[e] - largest); }
  workgroupBarrier();
  for (var e = local; e < EXPERTS; e += WG) { scores[e] = exp(scores[e] - largest) / total; }
#endif
  for (var e = local; e < EXPERTS; e += WG) {
#ifdef B_SELECTION_BIAS
    choice[e] = scores[e] + selection_bias[e];
#else
    choice[e] = scores[e];
#endif
  }
  workgroupBarrier();
#if GROUPS > 1
  for (var g = local; g < GROUPS; g += WG) {
    var first = NEVER;
    var second = NEVER;
    for (var e = g * GROUP_SIZE; e < (g + 1u) * GROUP_SIZE; e++) {
      second = max(second, min(first, choice[e]));
      first = max(first, choice[e]);
    }
    worth[g] = first + second;
  }
  workgroupBarrier();
  for (var e = local; e < EXPERTS; e += WG) {
    let own = e / GROUP_SIZE;
    var before = 0u;
    for (var g = 0u; g < GROUPS; g++) {
      before += select(0u, 1u, worth[g] > worth[own] || (worth[g] == worth[own] && g < own));
    }
    if (before >= GROUPS_CHOSEN) { choice[e] = NEVER; }
  }
  workgroupBarrier();
#endif
  for (var e = local; e < EXPERTS; e += WG) {
    let own = choice[e];
    var before = 0u;
    for (var other = 0u; other < EXPERTS; other++) {
      before += select(0u, 1u, choice[other] > own || (choice[other] == own && other < e));
    }
    if (before < CHOSEN) { chosen[before] = e; }
  }
  workgroupBarrier();
#if NORMALISE || SOFTMAX_OF_CHOSEN
  var sum = 0.0;
  for (var i = 0u; i < CHOSEN; i++) { sum += share(i); }
#else
  const sum = 1.0;
#endif
  for (var i = local; i < CHOSEN; i += WG) {
    routes[wid.x * CHOSEN * 2u + i] = chosen[i];
    routes[(wid.x * 2u + 1u) * CHOSEN + i] = bitcast<u32>(share(i) / sum * SCALE);
  }
}

// The weight of slot i before it is normalised.
fn share(i: u32) -> f32 {
#if SOFTMAX_OF_CHOSEN
  return exp(scores[chosen[i]] - scores[chosen[0]]);
#elif defined(SPARSE_MIXER)
  let most = scores[chosen[i]];
  var sum = 0.0;
  for (var e = 0u; e < EXPERTS; e++) {
    var counts = most - scores[e] <= MARGIN * max(abs(scores[e]), most);
    for (var before = 0u; before < i; before++) { counts = counts && chosen[before] != e; }
    sum += select(0.0, exp(scores[e] - most), counts);
  }
  return 1.0 / sum;
#else
  return scores[chosen[i]];
#endif
}
