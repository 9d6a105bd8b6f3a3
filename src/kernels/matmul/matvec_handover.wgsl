  // Hands what the workgroup finished to the products after this one (Handover of matmul.h), from `finished` [column][OUTPUTS]: four
  // outputs an invocation. As bytes: units, with the squares of what the norm is of in their headers. Else f32, then the squares of each
  // four.
  let four_row = own_four / (OUTPUTS / 4u);
  let four_column = first_output + own_four % (OUTPUTS / 4u) * 4u;
  let four_counts = local == own_four && m_first + four_row < m_count && four_column < N_OUTPUTS;
  let four = finished_four(own_four);
#if HANDS_BYTES
  let next_row = m_first + four_row;
  let next_unit = (Y_COLUMN + four_column) / 32u;
#if EIGHTHS
#ifdef B_NEXT_GAMMA
  var four_squares = dot(four, four);
  four_squares += subgroupShuffleXor(four_squares, 1u);
  four_squares += subgroupShuffleXor(four_squares, 2u);
  four_squares += subgroupShuffleXor(four_squares, 4u);
  let eighth = eighth_of_unit(four * own_gamma);
#else
  const four_squares = 0.0;
  let eighth = eighth_of_unit(four);
#endif
  if (four_counts && local % 4u == 0u) { next[(next_row * 2u + local / 4u % 2u) * NEXT_UNITS + next_unit] = eighth.words; }
  if (four_counts && local % 8u == 0u) {
    next[(NEXT_ROWS * 2u + next_row) * NEXT_UNITS + next_unit] =
        bitcast<vec4<u32>>(vec4<f32>(bytes_header(eighth.scale, eighth.sums).xyz, four_squares));
  }
#else
  if (four_counts && local % 8u == 0u) {
    var v: array<vec4<f32>, 8>;
#for j in 0..8
    v[j] = finished_four(own_four + j);
#endfor
    let q = quantize(v);
    next[next_row * 2u * NEXT_UNITS + next_unit] = q.lo;
    next[(next_row * 2u + 1u) * NEXT_UNITS + next_unit] = q.hi;
    next[(NEXT_ROWS * 2u + next_row) * NEXT_UNITS + next_unit] = bitcast<vec4<u32>>(bytes_header(q.scale, q.sums));
  }
#endif
#else
  if (four_counts) {
    let at = Y_COLUMN + four_column;
    let scaled = four * own_gamma;
#for c in 0..4
    next[at + c] = scaled[c];
#endfor
    next[NEXT_UNITS * 32u + at / 4u] = dot(four, four);
  }
#endif
