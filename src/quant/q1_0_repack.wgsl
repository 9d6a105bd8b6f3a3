// q1_0, for kernels/repack: the bits of each row, ordered as in h1, and the scales of the group.
fn repack_unit(g: u32, u: u32) {
  let j = u % BLOCK_UNITS;
  let block = g * (UNITS / BLOCK_UNITS) + u / BLOCK_UNITS;
  var d: vec4<u32>;
  for (var r = 0u; r < 4u; r++) {
    let row = g * 4u + r;
    let at = block_at(row, u);
    put_u32(PLANE_B1, row * UNITS + u, ordered_bits(file_u32(at + 2u + 4u * j)));
    d[r] = file_u16(at);
  }
  if (j == 0u) { put_halves(PLANE_S4, block, d); }
}
