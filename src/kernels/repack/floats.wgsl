// f32, f16, bf16: rows as they are, padded with zeros to whole units.
#ifdef WEIGHT_F32
const WEIGHT_BYTES = 4u;
#else
const WEIGHT_BYTES = 2u;
#endif

// Word i of a unit, whose first element is element e of the row.
fn unit_word(at: u32, e: u32, i: u32) -> u32 {
  let first = e + i * 4u / WEIGHT_BYTES;
  if (first >= COLS) { return 0u; }
  let word = file_u32(at + 4u * i);
  return select(word, word & 0xffffu, WEIGHT_BYTES == 2u && first + 1u == COLS);
}

fn repack_unit(g: u32, u: u32) {
  for (var r = 0u; r < 4u; r++) {
    let row = g * 4u + r;
    let at = block_at(row, u);
    for (var i = 0u; i < 8u * WEIGHT_BYTES; i += 4u) {
      let e = u * 32u;
      put_vec4(PLANE_ROWS, (row * UNITS + u) * 2u * WEIGHT_BYTES + i / 4u,
               vec4<u32>(unit_word(at, e, i), unit_word(at, e, i + 1u), unit_word(at, e, i + 2u), unit_word(at, e, i + 3u)));
    }
  }
}
