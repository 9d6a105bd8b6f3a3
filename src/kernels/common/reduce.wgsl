// Sum over a workgroup of WG invocations (a power of two), the same value for all of them, and with REDUCES_MAX the largest value; call
// them from uniform control flow.
// With subgroups: each adds up, then every invocation reads the few subgroup sums. Without: a tree in workgroup memory.
#if SUBGROUPS && SUBGROUP_MIN > 0
#define LANE_BUILTINS @builtin(local_invocation_index) local: u32, @builtin(subgroup_size) lane_count: u32, @builtin(subgroup_invocation_id) lane: u32
#define LANES local, lane_count, lane
var<workgroup> reduce_memory: array<f32, WG / SUBGROUP_MIN>;

fn workgroup_sum(value: f32, local: u32, lane_count: u32, lane: u32) -> f32 {
  let sum = subgroupAdd(value);
  if (lane == 0u) {
    reduce_memory[local / lane_count] = sum;
  }
  workgroupBarrier();
  var total = 0.0;
  for (var i = 0u; i < (WG + lane_count - 1u) / lane_count; i++) {
    total += reduce_memory[i];
  }
  workgroupBarrier();
  return total;
}
#ifdef REDUCES_MAX
fn workgroup_max(value: f32, local: u32, lane_count: u32, lane: u32) -> f32 {
  let largest = subgroupMax(value);
  if (lane == 0u) {
    reduce_memory[local / lane_count] = largest;
  }
  workgroupBarrier();
  var result = reduce_memory[0];
  for (var i = 1u; i < (WG + lane_count - 1u) / lane_count; i++) {
    result = max(result, reduce_memory[i]);
  }
  workgroupBarrier();
  return result;
}
#endif
#else
#define LANE_BUILTINS @builtin(local_invocation_index) local: u32
#define LANES local
var<workgroup> reduce_memory: array<f32, WG>;

fn workgroup_sum(value: f32, local: u32) -> f32 {
  reduce_memory[local] = value;
  workgroupBarrier();
  for (var half = WG / 2u; half > 0u; half = half / 2u) {
    if (local < half) {
      reduce_memory[local] += reduce_memory[local + half];
    }
    workgroupBarrier();
  }
  let total = reduce_memory[0];
  workgroupBarrier();
  return total;
}
#ifdef REDUCES_MAX
fn workgroup_max(value: f32, local: u32) -> f32 {
  reduce_memory[local] = value;
  workgroupBarrier();
  for (var half = WG / 2u; half > 0u; half = half / 2u) {
    if (local < half) {
      reduce_memory[local] = max(reduce_memory[local], reduce_memory[local + half]);
    }
    workgroupBarrier();
  }
  let result = reduce_memory[0];
  workgroupBarrier();
  return result;
}
#endif
#endif
