  // Block types, int8 activations: eight dp4a a unit, row and column. With PREFETCH the weights of the next turn, and x where it
  // lies in scratch, are on their way before those of this one are used, the first weights since before x was made bytes; the last turn
  // reads the last unit once more, which costs nothing. WRITTEN_TURNS are all turns of a short K, written out, where the last one reads
  // nothing ahead.
#if PREFETCH && defined(B_X8) && X_PLANES == 1
#define X_PREFETCH 1
#for c in 0..COLUMNS
  var next_x_##c = load_bytes(m_##c, min(team_lane, X_UNITS - 1u));
#endfor
#endif
#ifdef WRITTEN_TURNS
#define LAST_TURN (WRITTEN_TURNS - 1)
#else
#define IN_LOOP 1
#define WRITTEN_TURNS 1
#define LAST_TURN 1
#endif
#for t in 0..WRITTEN_TURNS
#ifdef IN_LOOP
  for (var u = team_lane; u < X_UNITS; u += LANES) {
#elif t == LAST_TURN && X_UNITS % LANES != 0
  if (team_lane + t * LANES < X_UNITS) {
    let u = team_lane + t * LANES;
#else
  {
    let u = team_lane + t * LANES;
#endif
#if defined(SUM_SLOTS) && CHUNKED
    if (slot_groups[u / UNITS] == OUTSIDE) { continue; }
#endif
#ifdef X_PREFETCH
#for c in 0..COLUMNS
    let x_##c##_0 = next_x_##c;
#if t < LAST_TURN
    next_x_##c = load_bytes(m_##c, min(u + LANES, X_UNITS - 1u));
#endif
#endfor
#elif COLUMNS == 1
#for p in 0..X_PLANES
    let x_0_##p = load_bytes(X8_ROW(m_0, u, p), X_UNIT_AT(u));
#endfor
#endif
#for gi in 0..TEAM_GROUPS
    {
#if PREFETCH
#for r in 0..4
      let w_##r = unpack(next_##gi##_##r, next_group_##gi, r, UNIT_AT(u));
#endfor
#if t < LAST_TURN
      let next = min(u + LANES, X_UNITS - 1u);
      next_group_##gi = load_group(GROUP_AT(g_##gi, next), 0u, UNIT_AT(next));
#for r in 0..4
      next_##gi##_##r = load_raw(GROUP_AT(g_##gi, next), r, UNIT_AT(next));
#endfor
#endif
#else
      let group = load_group(GROUP_AT(g_##gi, u), 0u, UNIT_AT(u));
#for r in 0..4
      let w_##r = load_unit(group, GROUP_AT(g_##gi, u), r, UNIT_AT(u));
#endfor
#endif
#for c in 0..COLUMNS
#for p in 0..X_PLANES
      {
#if COLUMNS > 1 && !defined(X_PREFETCH)
        let x_##c##_##p = load_bytes(X8_ROW(m_##c, u, p), X_UNIT_AT(u));
#endif
#if WEIGHT_SCALES == 1
#for r in 0..4
        let sum_##r = dot32(w_##r.lo, w_##r.hi, x_##c##_##p.lo, x_##c##_##p.hi);
#endfor
        acc_##gi##_##c += vec4<f32>(w_0.s.x, w_1.s.x, w_2.s.x, w_3.s.x) * (x_##c##_##p.h.x * vec4<f32>(sum_0, sum_1, sum_2, sum_3));
#if WEIGHT_MIN
        acc_##gi##_##c += vec4<f32>(w_0.m.x, w_1.m.x, w_2.m.x, w_3.m.x) * (x_##c##_##p.h.y + x_##c##_##p.h.z);
#endif
#else
#for r in 0..4
        let lo_##r = dot16(w_##r.lo, x_##c##_##p.lo);
        let hi_##r = dot16(w_##r.hi, x_##c##_##p.hi);
#endfor
        acc_##gi##_##c += x_##c##_##p.h.x * (vec4<f32>(w_0.s.x, w_1.s.x, w_2.s.x, w_3.s.x) * vec4<f32>(lo_0, lo_1, lo_2, lo_3) +
                                       vec4<f32>(w_0.s.y, w_1.s.y, w_2.s.y, w_3.s.y) * vec4<f32>(hi_0, hi_1, hi_2, hi_3));
#if WEIGHT_MIN
        acc_##gi##_##c += vec4<f32>(w_0.m.x, w_1.m.x, w_2.m.x, w_3.m.x) * x_##c##_##p.h.y +
                          vec4<f32>(w_0.m.y, w_1.m.y, w_2.m.y, w_3.m.y) * x_##c##_##p.h.z;
#endif
#endif
      }
#endfor
#endfor
    }
#endfor
  }
#endfor
