  // Row m_0 of x as bytes into own_bytes and own_scales.
#if EIGHTHS
  // Units beyond the last are made again and not kept.
#ifdef B_GAMMA
  var squares = 0.0;
#endif
  for (var first = 0u; first < TURNS(X_UNITS * 8u); first += WG) {
    let i = first + local;
    let u = i / 8u;
    let part = i % 8u;
    let plain = load_x(m_0, min(u, X_UNITS - 1u) * 32u + part * 4u);
#ifdef B_GAMMA
    squares += select(0.0, dot(plain, plain), u < X_UNITS);
    let v = plain * gamma[min(u, X_UNITS - 1u) * 8u + part];
#else
    let v = plain;
#endif
    let eighth = eighth_of_unit(v);
    if (u < X_UNITS && part % 4u == 0u) { own_bytes[part / 4u * X_UNITS + u] = eighth.words; }
    if (u < X_UNITS && part == 0u) { own_scales[u] = own_scale(eighth.scale, eighth.sums.x, eighth.sums.y); }
#if X_PLANES == 2
    let fine = eighth_of_unit(eighth.left);
    if (u < X_UNITS && part % 4u == 0u) { own_bytes[(2u + part / 4u) * X_UNITS + u] = fine.words; }
    if (u < X_UNITS && part == 0u) { own_scales[X_UNITS + u] = own_scale(fine.scale, fine.sums.x, fine.sums.y); }
#endif
  }
#ifdef B_GAMMA
  let subgroup_squares = subgroupAdd(squares);
  if (lane == 0u) { own_squares[local / lane_count] = subgroup_squares; }
#endif
#else
  for (var u = local; u < X_UNITS; u += WG) {
    let v = unit_of_x(m_0, u);
    let q = quantize(v);
    own_bytes[u] = q.lo;
    own_bytes[X_UNITS + u] = q.hi;
    own_scales[u] = own_scale(q.scale, q.sums.x, q.sums.y);
#if X_PLANES == 2
    let fine = quantize(left_of(v, q));
    own_bytes[2u * X_UNITS + u] = fine.lo;
    own_bytes[3u * X_UNITS + u] = fine.hi;
    own_scales[X_UNITS + u] = own_scale(fine.scale, fine.sums.x, fine.sums.y);
#endif
  }
#endif
