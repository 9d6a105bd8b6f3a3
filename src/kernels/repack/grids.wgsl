// iq1, iq2, iq3: entries of a grid, signs, scales. The grid itself is not in the file: the host writes it.

// Four times seven signs side by side as bytes, so that bit i of byte l is element 8l + i.
fn signs_of_sevens(w: u32) -> u32 {
  return (w & 0x7fu) | ((w & 0x3f80u) << 1u) | ((w & 0x1fc000u) << 2u) | ((w & 0xfe00000u) << 3u);
}
// Four bits in the places of every eighth sign.
fn beside(bits: u32) -> u32 { return ((bits & 1u) << 25u) | ((bits & 2u) << 26u) | ((bits & 4u) << 27u) | ((bits & 8u) << 28u); }
fn even_signs_and(w: u32, bits: u32) -> u32 { return ordered_bits(signs_of_sevens(w)) | beside(bits); }

fn repack_unit(g: u32, u: u32) {
  let j = u % 8u;  // unit in its block
  let block = g * (UNITS / 8u) + u / 8u;
  var d: vec4<u32>;
#ifdef WEIGHT_IQ3_S
  var tops: array<vec4<u32>, 2>;
  var scales: vec4<u32>;
#endif
  for (var r = 0u; r < 4u; r++) {
    let row = g * 4u + r;
    let at = block_at(row, u);
    let i = row * UNITS + u;
    d[r] = file_u16(at);
#if defined(WEIGHT_IQ2_XXS)
    let w = file_u32(at + 6u + 8u * j);
    put_vec2(PLANE_IS, i, vec2<u32>(file_u32(at + 2u + 8u * j), even_signs_and(w, w >> 28u)));
#elif defined(WEIGHT_IQ2_XS)
    // Four times 9 bits of entry and 7 signs.
    let a = file_u32(at + 2u + 8u * j);
    let b = file_u32(at + 6u + 8u * j);
    let entries = (a & 255u) | ((a >> 8u) & 0xff00u) | ((b & 255u) << 16u) | ((b << 8u) & 0xff000000u);
    let signs = ((a >> 9u) & 0x7fu) | ((a >> 17u) & 0x7f00u) | ((b << 7u) & 0x7f0000u) | ((b >> 1u) & 0x7f000000u);
    let ninths = ((a >> 8u) & 1u) | ((a >> 23u) & 2u) | ((b >> 6u) & 4u) | ((b >> 21u) & 8u);
    put_vec2(PLANE_IS, i, vec2<u32>(entries, ordered_bits(signs) | beside(ninths)));
    if (j == 0u) { put_vec2(PLANE_SC, block * 4u + r, vec2<u32>(file_u32(at + 66u), file_u32(at + 70u))); }
#elif defined(WEIGHT_IQ2_S)
    put_vec2(PLANE_IS, i, vec2<u32>(file_u32(at + 2u + 4u * j), ordered_bits(file_u32(at + 34u + 4u * j))));
    if (j == 0u) { put_vec4(PLANE_SC, block * 4u + r, file_vec4(at + 66u)); }
#elif defined(WEIGHT_IQ3_XXS)
    let w = file_u32(at + 66u + 4u * j);
    put_vec2(PLANE_IX, i, vec2<u32>(file_u32(at + 2u + 8u * j), file_u32(at + 6u + 8u * j)));
    put_u32(PLANE_SG, i, even_signs_and(w, w >> 28u));
#elif defined(WEIGHT_IQ3_S)
    put_vec2(PLANE_IX, i, vec2<u32>(file_u32(at + 2u + 8u * j), file_u32(at + 6u + 8u * j)));
    put_u32(PLANE_SG, i, ordered_bits(file_u32(at + 74u + 4u * j)));
    tops[0][r] = file_u32(at + 66u);
    tops[1][r] = file_u32(at + 70u);
    scales[r] = file_u32(at + 106u);
#elif defined(WEIGHT_IQ1_S)
    put_u32(PLANE_IX, i, file_u32(at + 2u + 4u * j));
    if (j == 0u) { put_vec4(PLANE_QH, row * (UNITS / 8u) + u / 8u, file_vec4(at + 34u)); }
#else
    put_u32(PLANE_IX, i, file_u32(at + 4u * j));
    if (j == 0u) {
      put_vec4(PLANE_QH, row * (UNITS / 8u) + u / 8u, file_vec4(at + 32u));
      // Twelve bits of scales and four of d in each half: the bits of d move to the top.
      let w = vec2<u32>(file_u32(at + 48u), file_u32(at + 52u));
      let m = vec2<u32>(0xfffu);
      put_vec2(PLANE_SC, block * 4u + r,
               (w & m) | (((w >> vec2<u32>(16u)) & m) << vec2<u32>(12u)) | ((w << vec2<u32>(12u)) & vec2<u32>(0x0f000000u)) |
                   (w & vec2<u32>(0xf0000000u)));
    }
#endif
  }
#ifndef WEIGHT_IQ1_M
  if (j == 0u) { put_halves(PLANE_D4, block, d); }
#endif
#ifdef WEIGHT_IQ3_S
  if (j == 0u) {
    put_vec4(PLANE_SC, block * 3u, tops[0]);
    put_vec4(PLANE_SC, block * 3u + 1u, tops[1]);
    put_vec4(PLANE_SC, block * 3u + 2u, scales);
  }
#endif
}
