// Encodes the row `key` (workgroup memory, HEAD_DIM elements) as head row `row` of k_cache (words), by all WG invocations. Every stored
// word has one writer: an invocation takes two elements of f16, a run of 64 of q8_0 and q4_0 with its word of scales.
#include "common/bounded_half.wgsl"

fn encode_key(row: u32, local: u32) {
#if KV_F32
  for (var i = local; i < HEAD_DIM; i += WG) { k_cache[row * HEAD_DIM + i] = bitcast<u32>(key[i]); }
#elif KV_F16
  for (var i = local; i < HEAD_DIM / 2u; i += WG) {
    k_cache[row * (HEAD_DIM / 2u) + i] = bounded_halves(vec4<f32>(key[2u * i], key[2u * i + 1u], 0.0, 0.0)).x;
  }
#else
  for (var run = local; run < (HEAD_DIM + 63u) / 64u; run += WG) {
    var scales = vec2<f32>();
    for (var block = 0u; block < 2u && run * 64u + block * 32u < HEAD_DIM; block++) {
      let first = run * 64u + block * 32u;
      scales[block] = encode_block(row, first);
    }
    k_cache[SCALES_OFFSET / 4u + kv_scale_word(row, HEAD_DIM, run * 64u)] = pack2x16float(scales);
  }
#endif
}

#if KV_Q8_0
// 32 elements from `first` on; returns their scale.
fn encode_block(row: u32, first: u32) -> f32 {
  // By the bits: NaN stays the largest.
  var bits = 0u;
  for (var i = 0u; i < 32u; i++) { bits = max(bits, bitcast<u32>(key[first + i]) & 0x7fffffffu); }
  let peak = bitcast<f32>(bits);
  let scale = unpack2x16float(pack2x16float(vec2<f32>(peak / 127.0, 0.0))).x;
  let inverse = select(0.0, 1.0 / scale, scale > 0.0);
  for (var w = 0u; w < 8u; w++) {
    let at = first + w * 4u;
    let v = vec4<f32>(key[at], key[at + 1u], key[at + 2u], key[at + 3u]) * inverse;
    k_cache[(row * HEAD_DIM + at) / 4u] = pack4xI8(vec4<i32>(clamp(round(v), vec4<f32>(-127.0), vec4<f32>(127.0))));
  }
  return scale;
}
#endif
#if KV_Q4_0
// 32 elements from `first` on; returns their scale, made of the first of the largest magnitude.
fn encode_block(row: u32, first: u32) -> f32 {
  var extreme = 0.0;
  // By the bits: NaN stays the largest.
  for (var i = 0u; i < 32u; i++) {
    let next = key[first + i];
    extreme = select(extreme, next, (bitcast<u32>(next) & 0x7fffffffu) > (bitcast<u32>(extreme) & 0x7fffffffu));
  }
  let scale = unpack2x16float(pack2x16float(vec2<f32>(extreme / -8.0, 0.0))).x;
  let inverse = select(0.0, 1.0 / scale, scale != 0.0);
  for (var w = 0u; w < 4u; w++) {
    var word = 0u;
    for (var i = 0u; i < 8u; i++) {
      let code = clamp(floor(key[first + w * 8u + i] * inverse + 8.5), 0.0, 15.0);
      word |= u32(code) << (4u * i);
    }
    k_cache[(row * HEAD_DIM + first) / 8u + w] = word;
  }
  return scale;
}
#endif
