// q4_0, q4_1, q5_0, q5_1, q8_0: one block is one unit. d f16, (m f16), (fifth bits u32), codes.
// q4f16_1, q4f32_1: the same with d f16 or f32, and nibbles in the order of the elements.
#if defined(WEIGHT_Q4_1) || defined(WEIGHT_Q5_1) || defined(WEIGHT_Q4F32_1)
const HEAD_BYTES = 4u;
#else
const HEAD_BYTES = 2u;
#endif

#if defined(WEIGHT_Q4F16_1) || defined(WEIGHT_Q4F32_1)
// Eight nibbles of a word as the low nibbles of eight bytes.
fn spread(word: u32) -> vec2<u32> {
  let halves = vec2<u32>(word & 0xffffu, word >> 16u);
  let bytes = (halves | (halves << vec2<u32>(8u))) & vec2<u32>(0x00ff00ffu);
  return (bytes | (bytes << vec2<u32>(4u))) & vec2<u32>(0x0f0f0f0fu);
}
fn unit_order(q: vec4<u32>) -> vec4<u32> {
  let low = vec4<u32>(spread(q.x), spread(q.y));
  let high = vec4<u32>(spread(q.z), spread(q.w));
  return low | (high << vec4<u32>(4u));
}
#else
fn unit_order(q: vec4<u32>) -> vec4<u32> { return q; }
#endif

fn repack_unit(g: u32, u: u32) {
  var head: array<u32, 4>;
  var high: array<u32, 4>;
  for (var r = 0u; r < 4u; r++) {
    let row = g * 4u + r;
    var at = block_at(row, u);
    head[r] = file_u32(at);
    at += HEAD_BYTES;
#ifdef WEIGHT_Q8_0
    put_vec4(PLANE_Q8, (row * UNITS + u) * 2u, file_vec4(at));
    put_vec4(PLANE_Q8, (row * UNITS + u) * 2u + 1u, file_vec4(at + 16u));
#else
#if defined(WEIGHT_Q5_0) || defined(WEIGHT_Q5_1)
    high[r] = ordered_bits(file_u32(at));
    at += 4u;
#endif
    put_vec4(PLANE_Q4, row * UNITS + u, unit_order(file_vec4(at)));
#endif
  }
  let i = g * UNITS + u;
#if defined(WEIGHT_Q4_1) || defined(WEIGHT_Q5_1)
  put_vec4(PLANE_DM4, i, vec4<u32>(head[0], head[1], head[2], head[3]));
#elif defined(WEIGHT_Q4F32_1)
  put_vec4(PLANE_F4, i, vec4<u32>(head[0], head[1], head[2], head[3]));
#else
  put_halves(PLANE_S4, i, vec4<u32>(head[0], head[1], head[2], head[3]) & vec4<u32>(0xffffu));
#endif
#if defined(WEIGHT_Q5_0) || defined(WEIGHT_Q5_1)
  put_vec4(PLANE_H1, i, vec4<u32>(high[0], high[1], high[2], high[3]));
#endif
}
