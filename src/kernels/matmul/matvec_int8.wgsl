  // Block types, int8 activations: eight dp4a a unit and row. With PREFETCH the weights of the next turn are on their way before those of
  // this one are used, the first ones since before x was made bytes; the last turn reads the last unit once more, which costs nothing.
  for (var u = team_lane; u < UNITS; u += LANES) {
#for c in 0..COLUMNS
    let x_##c = load_bytes(m_##c, u);
#endfor
#for gi in 0..TEAM_GROUPS
    {
#if PREFETCH
      let next = min(u + LANES, UNITS - 1u);
#for r in 0..4
      let w_##r = next_##gi##_##r;
#endfor
      let group = load_group(g_##gi, next);
#for r in 0..4
      next_##gi##_##r = load_unit(group, g_##gi, r, next);
#endfor
#else
      let group = load_group(g_##gi, u);
#for r in 0..4
      let w_##r = load_unit(group, g_##gi, r, u);
#endfor
#endif
#for r in 0..4
#for c in 0..COLUMNS
      {
        let lo = dot4I8Packed(w_##r.lo.x, x_##c.lo.x) + dot4I8Packed(w_##r.lo.y, x_##c.lo.y) +
                 dot4I8Packed(w_##r.lo.z, x_##c.lo.z) + dot4I8Packed(w_##r.lo.w, x_##c.lo.w);
        let hi = dot4I8Packed(w_##r.hi.x, x_##c.hi.x) + dot4I8Packed(w_##r.hi.y, x_##c.hi.y) +
                 dot4I8Packed(w_##r.hi.z, x_##c.hi.z) + dot4I8Packed(w_##r.hi.w, x_##c.hi.w);
#if WEIGHT_SCALES == 1
        var sum = w_##r.s.x * (x_##c.h.x * f32(lo + hi));
#if WEIGHT_MIN
        sum += w_##r.m.x * x_##c.h.w;
#endif
#else
        var sum = x_##c.h.x * (w_##r.s.x * f32(lo) + w_##r.s.y * f32(hi));
#if WEIGHT_MIN
        sum += w_##r.m.x * x_##c.h.y + w_##r.m.y * x_##c.h.z;
#endif
#endif
        acc_##gi##_##c[r] += sum;
      }
#endfor
#endfor
    }
#endfor
  }
