// q4_0, q4_1, q5_0, q5_1, q8_0: one block is one unit. d f16, (m f16), (fifth bits u32), codes.
#if defined(WEIGHT_Q4_1) || defined(WEIGHT_Q5_1)
const HEAD_BYTES = 4u;
#else
const HEAD_BYTES = 2u;
#endif

#if defined(WEIGHT_Q5_0) || defined(WEIGHT_Q5_1)
// Bit i of the file's word is element i.
fn h1_word(qh: u32) -> u32 {
  // Nibbles to bytes: the product puts bit k of a nibble at bit 8k.
  let spread = vec4<u32>(0x00204081u);
  let nibbles = vec4<u32>(qh, qh >> 4u, qh >> 8u, qh >> 12u) & vec4<u32>(15u);
  let more = vec4<u32>(qh >> 16u, qh >> 20u, qh >> 24u, qh >> 28u) & vec4<u32>(15u);
  return h1_bits(nibbles * spread, 0u) | h1_bits(more * spread, 4u);
}
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
    high[r] = h1_word(file_u32(at));
    at += 4u;
#endif
    put_vec4(PLANE_Q4, row * UNITS + u, file_vec4(at));
#endif
  }
  let i = g * UNITS + u;
#if defined(WEIGHT_Q4_1) || defined(WEIGHT_Q5_1)
  put_vec4(PLANE_DM4, i, vec4<u32>(head[0], head[1], head[2], head[3]));
#else
  put_halves(PLANE_S4, i, vec4<u32>(head[0], head[1], head[2], head[3]) & vec4<u32>(0xffffu));
#endif
#if defined(WEIGHT_Q5_0) || defined(WEIGHT_Q5_1)
  put_vec4(PLANE_H1, i, vec4<u32>(high[0], high[1], high[2], high[3]));
#endif
}
