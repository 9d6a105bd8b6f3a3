// Reads of the paged KV cache in units of UNIT_ELEMENTS consecutive elements of a head row (8, or 4 where HEAD_DIM does not divide
// by 8), decoded to f32. A unit of f16 is one 16-byte load, of f32 two, of q8_0 8 bytes and a scale word, of
// q4_0 4 bytes and a scale word.
#include "common/step.wgsl"

#if HEAD_DIM % 8 == 0
#define UNIT_ELEMENTS 8
#else
#define UNIT_ELEMENTS 4
#endif
#define UNITS (HEAD_DIM / UNIT_ELEMENTS)
#define V_UNITS (V_DIM / UNIT_ELEMENTS)
#define UNIT_VECTORS (UNIT_ELEMENTS / 4)

#if KV_F32
#define CACHE_WORD vec4<f32>
#elif KV_F16 && UNIT_ELEMENTS == 8
#define CACHE_WORD vec4<u32>
#elif KV_Q4_0
#define CACHE_WORD u32
#else
#define CACHE_WORD vec2<u32>
#endif

#ifdef OWN_KEYS
// Keys and values stand behind the queries of their row.
#define ROW_HEADS (N_HEADS + 2 * N_KV_HEADS)
#elif defined(KV_APPEND)
@group(0) @binding(B_K) var<storage, read_write> k_cache: array<CACHE_WORD>;
@group(0) @binding(B_V) var<storage, read_write> v_cache: array<CACHE_WORD>;
#else
@group(0) @binding(B_K) var<storage, read> k_cache: array<CACHE_WORD>;
@group(0) @binding(B_V) var<storage, read> v_cache: array<CACHE_WORD>;
#endif

// With units of four elements `high` stays zero.
struct Unit {
  low: vec4<f32>,
  high: vec4<f32>,
}

fn halves(w: vec2<u32>) -> vec4<f32> {
  return vec4<f32>(unpack2x16float(w.x), unpack2x16float(w.y));
}

// A unit as it lies in the cache: its words and, of block types, the word with its scale.
#if KV_F32
#define RawUnit Unit
#elif KV_F16
#define RawUnit CACHE_WORD
#elif KV_Q4_0
#define RawUnit vec2<u32>
#else
#define RawUnit vec3<u32>
#endif

#ifdef OWN_KEYS
#define CACHE_0 q
#define CACHE_1 q
#else
#define CACHE_0 k_cache
#define CACHE_1 v_cache
#endif
#define FETCH_0 fetch_k
#define FETCH_1 fetch_v
#for c in 0..2
fn FETCH_##c(row: u32, unit: u32) -> RawUnit {
#if KV_F32
#if UNIT_ELEMENTS == 8
  let i = (row * UNITS + unit) * 2u;
  return Unit(CACHE_##c[i], CACHE_##c[i + 1u]);
#else
  return Unit(CACHE_##c[row * UNITS + unit], vec4<f32>());
#endif
#elif KV_F16
  return CACHE_##c[row * UNITS + unit];
#elif KV_Q4_0
  return vec2<u32>(CACHE_##c[row * UNITS + unit], CACHE_##c[SCALES_OFFSET / 4u + kv_scale_word(row, HEAD_DIM, unit * 8u)]);
#else
  let s = SCALES_OFFSET / 4u + kv_scale_word(row, HEAD_DIM, unit * 8u);
  return vec3<u32>(CACHE_##c[row * UNITS + unit], CACHE_##c[s / 2u][s % 2u]);
#endif
}
#endfor

fn decoded(w: RawUnit, unit: u32) -> Unit {
#if KV_F32
  return w;
#elif KV_F16 && UNIT_ELEMENTS == 8
  return Unit(halves(w.xy), halves(w.zw));
#elif KV_F16
  return Unit(halves(w), vec4<f32>());
#elif KV_Q4_0
  let scales = unpack2x16float(w.y);
  let scale = select(scales.x, scales.y, (unit & 4u) != 0u);
  let low = vec4<f32>((vec4<u32>(w.x) >> vec4<u32>(0u, 4u, 8u, 12u)) & vec4<u32>(15u));
  let high = vec4<f32>((vec4<u32>(w.x) >> vec4<u32>(16u, 20u, 24u, 28u)) & vec4<u32>(15u));
  return Unit((low - 8.0) * scale, (high - 8.0) * scale);
#else
  let scales = unpack2x16float(w.z);
  let scale = select(scales.x, scales.y, (unit & 4u) != 0u);
  return Unit(vec4<f32>(unpack4xI8(w.x)) * scale, vec4<f32>(unpack4xI8(w.y)) * scale);
#endif
}

fn k_unit(row: u32, unit: u32) -> Unit { return decoded(fetch_k(row, unit), unit); }
fn v_unit(row: u32, unit: u32) -> Unit { return decoded(fetch_v(row, unit), unit); }
