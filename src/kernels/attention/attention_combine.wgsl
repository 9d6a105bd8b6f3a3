// Joins the splits of attention_decode.wgsl: out = sum_s e^(m_s - m) acc_s / sum_s e^(m_s - m) l_s over the splits that the row used.
// A workgroup takes one head of one row: V_VECTORS columns of four elements by WG / V_VECTORS runners over the splits.
#include "common/step.wgsl"

#define V_VECTORS (V_DIM / 4)
#define RUNNERS (WG / V_VECTORS)

@group(0) @binding(B_STEP) var<storage, read> step: array<u32>;
@group(0) @binding(B_SCRATCH) var<storage, read_write> scratch: array<vec4<f32>>;

#include "attention/results.wgsl"
#include "attention/span.wgsl"

var<workgroup> split_stats: array<vec2<f32>, MAX_SPLITS>;  // maximum and sum of each split
var<workgroup> sums: array<vec4<f32>, RUNNERS * V_VECTORS>;
var<workgroup> totals: array<f32, RUNNERS>;

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let row_head = workgroup.y * N_HEADS + workgroup.x;
  let position = step[STEP_POSITIONS + workgroup.y];
  let n = LAST_SEEN(workgroup.y, position) + 1u - FIRST_SEEN(workgroup.y, position);
  let share = split_share(n);
  let used = min((n + share - 1u) / share, u32(MAX_SPLITS));
  let stats = MAX_ROWS * N_HEADS * MAX_SPLITS * V_VECTORS + row_head * MAX_SPLITS;

  for (var s = local; s < used; s += WG) {
    split_stats[s] = scratch[stats + s].xy;
  }
  workgroupBarrier();
  var highest = LOWEST;
  for (var s = 0u; s < used; s++) {
    highest = max(highest, split_stats[s].x);
  }
  let column = local % V_VECTORS;
  let runner = local / V_VECTORS;
  var sum = vec4<f32>();
  var total = 0.0;
  if (runner < RUNNERS) {
    for (var s = runner; s < used; s += RUNNERS) {
      let stat = split_stats[s];
      let weight = exp(stat.x - highest);
      total += weight * stat.y;
      sum += weight * scratch[(row_head * MAX_SPLITS + s) * V_VECTORS + column];
    }
    sums[runner * V_VECTORS + column] = sum;
    if (column == 0u) {
      totals[runner] = total;
    }
  }
  workgroupBarrier();
  if (runner == 0u) {
    for (var i = 1u; i < RUNNERS; i++) {
      sum += sums[i * V_VECTORS + column];
      total += totals[i];
    }
    keep_result(row_head, column, sum / total);
  }
}
