  // f32, f16, bf16: a 16-byte vector of each row at a time, neighbouring lanes read neighbouring vectors. PREFETCH as in matvec_int8.wgsl.
#ifdef SUM_SLOTS
#define ROW_VECS (UNITS * 32u / WEIGHT_VEC)
  for (var every = team_lane; every < ROW_VECS * SLOTS; every += LANES) {
    let slot = every / ROW_VECS;
    let i = every % ROW_VECS;
#if CHUNKED
    if (slot_groups[slot] == OUTSIDE) { continue; }
#endif
#define FLOAT_ROW(g) (g + slot_groups[slot])
#define FLOAT_X(m) (m + slot)
#else
#define FLOAT_ROW(g) g
#define FLOAT_X(m) m
  for (var i = team_lane; i < UNITS * 32u / WEIGHT_VEC; i += LANES) {
#endif
#for p in 0..WEIGHT_VEC / 4
#for c in 0..COLUMNS
    let x_##p##_##c = load_x(FLOAT_X(m_##c), i * WEIGHT_VEC + 4u * p);
#endfor
#endfor
#for gi in 0..TEAM_GROUPS
    {
#for r in 0..4
#if PREFETCH
      let w_##r = widen(next_##gi##_##r);
      next_##gi##_##r = load_vec(g_##gi * 4u + r, min(i + LANES, LAST_VEC));
#else
      let w_##r = decode_vec(FLOAT_ROW(g_##gi) * 4u + r, i);
#endif
#endfor
#for p in 0..WEIGHT_VEC / 4
#for c in 0..COLUMNS
      acc_##gi##_##c += vec4<f32>(dot(w_0[p], x_##p##_##c), dot(w_1[p], x_##p##_##c), dot(w_2[p], x_##p##_##c), dot(w_3[p], x_##p##_##c));
#endfor
#endfor
    }
#endfor
  }
