// The sums of a group over a subgroup, dealt to its invocations. An invocation comes with 4 * COLUMNS values, [column][row]; at each
// step it keeps half of them, to which it adds the same half of the one it trades with, until one value is left. So eight columns take
// 31 shuffles, where a sum of each by itself takes 160. A value is added up in the same order for any number of columns.
// DEALT_LANES invocations side by side have the same value: [column][row] from the first to the last.
#define DEALT_LANES (SUBGROUP_MAX / (4u * COLUMNS))

fn dealt_sum(values: array<vec4<f32>, COLUMNS>, lane: u32) -> f32 {
  var v = values;
#for i in 0..3
#define TRADED_0 4
#define TRADED_1 2
#define TRADED_2 1
#if COLUMNS > TRADED_##i
  {
    let stride = u32(SUBGROUP_MAX * TRADED_##i / COLUMNS);
    let upper = (lane & stride) != 0u;
#for c in 0..TRADED_##i
    v[c] = select(v[c], v[c + TRADED_##i], upper) + subgroupShuffleXor(select(v[c + TRADED_##i], v[c], upper), stride);
#endfor
  }
#endif
#endfor
  let by_two = SUBGROUP_MAX / (2u * COLUMNS);
  let in_upper = (lane & by_two) != 0u;
  let two = select(v[0].xy, v[0].zw, in_upper) + subgroupShuffleXor(select(v[0].zw, v[0].xy, in_upper), by_two);
  let is_odd = (lane & DEALT_LANES) != 0u;
  var sum = select(two.x, two.y, is_odd) + subgroupShuffleXor(select(two.y, two.x, is_odd), DEALT_LANES);
  for (var stride = DEALT_LANES / 2u; stride > 0u; stride /= 2u) { sum += subgroupShuffleXor(sum, stride); }
  return sum;
}
