// tq1_0, for kernels/repack: bytes of five digits as in the file, those of four digits, and the scales of the group.
fn repack_unit(g: u32, u: u32) {
  let j = u % BLOCK_UNITS;
  let block = g * (UNITS / BLOCK_UNITS) + u / BLOCK_UNITS;
  var d: vec4<u32>;
  var last: vec4<u32>;
  for (var r = 0u; r < 4u; r++) {
    let row = g * 4u + r;
    let at = block_at(row, u);
    if (j < 3u) { put_vec4(PLANE_T5, (row * (UNITS / 8u) + u / 8u) * 3u + j, file_vec4(at + 16u * j)); }
    last[r] = file_u32(at + 48u);
    d[r] = file_u16(at + 52u);
  }
  if (j != 0u) { return; }
  put_vec4(PLANE_T4, block, last);
  put_halves(PLANE_D4, block, d);
}
