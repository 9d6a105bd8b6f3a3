  // Block types, f32 activations. Four rows of packed weights stay in registers while x passes by, four columns at a time.
  for (var u = team_lane; u < X_UNITS; u += LANES) {
#if defined(SUM_SLOTS) && CHUNKED
    if (slot_groups[u / UNITS] == OUTSIDE) { continue; }
#endif
#for gi in 0..TEAM_GROUPS
    {
      let group = load_group(GROUP_AT(g_##gi, u), 0u, UNIT_AT(u));
#for r in 0..4
      let w_##r = load_unit(group, GROUP_AT(g_##gi, u), r, UNIT_AT(u));
#endfor
#for c in 0..COLUMNS
      var q_##c = vec4<f32>();  // sum of q * x, by row
      var s_##c = 0.0;          // sum of x
#endfor
#for half in 0..2
#for j in 0..4
      {
#for r in 0..4
#if half == 0
        let v_##r = bytes_f32(w_##r.lo[j]);
#else
        let v_##r = bytes_f32(w_##r.hi[j]);
#endif
#endfor
#for c in 0..COLUMNS
        let x_##c = load_x(X_ROW_AT(m_##c, u), UNIT_AT(u) * 32u + half * 16u + j * 4u);
        q_##c += vec4<f32>(dot(v_0, x_##c), dot(v_1, x_##c), dot(v_2, x_##c), dot(v_3, x_##c));
        s_##c += x_##c.x + x_##c.y + x_##c.z + x_##c.w;
#endfor
      }
#endfor
#if WEIGHT_SCALES == 2 || half == 1
#for c in 0..COLUMNS
      acc_##gi##_##c += vec4<f32>(w_0.s[half], w_1.s[half], w_2.s[half], w_3.s[half]) * q_##c;
#if WEIGHT_MIN
      acc_##gi##_##c += vec4<f32>(w_0.m[half], w_1.m[half], w_2.m[half], w_3.m[half]) * s_##c;
#endif
      q_##c = vec4<f32>();
      s_##c = 0.0;
#endfor
#endif
#endfor
    }
#endfor
  }
