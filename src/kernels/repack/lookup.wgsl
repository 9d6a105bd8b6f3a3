// iq4_nl, iq4_xs, mxfp4, nvfp4: scales, then nibbles that become bit planes (quant/lookup.wgsl).
#if defined(WEIGHT_IQ4_NL)
const CODES = 2u;    // byte offset inside the block
#elif defined(WEIGHT_IQ4_XS)
const CODES = 8u;
#elif defined(WEIGHT_NVFP4)
const CODES = 4u;
#else
const CODES = 1u;
#endif

// Plane b4 of a unit: byte c of component j of `first` holds element 4j + c in its low nibble, of `second` element 16 + 4j + c.
fn bit_planes(first: vec4<u32>, second: vec4<u32>) -> vec4<u32> {
  var out: vec4<u32>;
#for k in 0..4
  out[k] = h1_bits(first >> vec4<u32>(k), 0u) | h1_bits(second >> vec4<u32>(k), 4u);
#endfor
  return out;
}

fn repack_unit(g: u32, u: u32) {
  var head: array<u32, 4>;
  let j = u % BLOCK_UNITS;
  for (var r = 0u; r < 4u; r++) {
    let row = g * 4u + r;
    let at = block_at(row, u);
    head[r] = file_u32(at);
    let q = file_vec4(at + CODES + 16u * j);
    let high = q >> vec4<u32>(4u);
#ifdef WEIGHT_NVFP4
    // 16 elements are the low and then the high nibbles of 8 bytes.
    put_vec4(PLANE_B4, row * UNITS + u, bit_planes(vec4<u32>(q.xy, high.xy), vec4<u32>(q.zw, high.zw)));
#else
    put_vec4(PLANE_B4, row * UNITS + u, bit_planes(q, high));
#endif
#ifdef WEIGHT_IQ4_XS
    if (j == 0u) { put_vec2(PLANE_HD, (g * (UNITS / 8u) + u / 8u) * 4u + r, vec2<u32>(head[r], file_u32(at + 4u))); }
#endif
  }
  let all = vec4<u32>(head[0], head[1], head[2], head[3]);
#if defined(WEIGHT_IQ4_NL)
  put_halves(PLANE_S4, g * UNITS + u, all & vec4<u32>(0xffffu));
#elif defined(WEIGHT_MXFP4)
  let e = (all & vec4<u32>(255u)) << vec4<u32>(0u, 8u, 16u, 24u);
  put_u32(PLANE_E4, g * UNITS + u, e.x | e.y | e.z | e.w);
#elif defined(WEIGHT_NVFP4)
  if (j == 0u) { put_vec4(PLANE_S8, g * (UNITS / 2u) + u / 2u, all); }
#endif
}
