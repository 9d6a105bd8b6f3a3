// Head norms, rotary positions and the append to the KV cache (rope.h), one pass over a step's rows.
// Four consecutive elements of a head an invocation, LANES = HEAD_DIM / 4 invocations a head, HEADS heads a workgroup; heads along x
// of the grid (q, then k, then v), rows along y. Every stored u32 has one writer: four elements are whole words in each cache type,
// and one invocation in sixteen writes the word with the two scales of q8_0 and q4_0; of q4_0 every other
// invocation writes eight elements.
#include "common/step.wgsl"
#if N_ROT > 0
#include "rope/turn.wgsl"
#include "rope/sections.wgsl"
#endif
#ifdef APPENDS
#if KV_F16
#include "common/bounded_half.wgsl"
#endif
#endif

#define LANES (HEAD_DIM / 4)
#ifdef APPENDS
#define ALL_HEADS (N_HEADS + 2 * N_KV_HEADS)
#define K_END (N_HEADS + N_KV_HEADS)
#else
#define ALL_HEADS N_HEADS
#define K_END N_HEADS
#endif
#include "rope/temperature.wgsl"

#ifdef APPENDS
#if KV_F32
#define CACHE_WORD vec4<f32>
#elif KV_F16
#define CACHE_WORD vec2<u32>
#else
#define CACHE_WORD u32
#define SCALE_WORDS ((HEAD_DIM + 63) / 64)
var<workgroup> peaks: array<f32, HEADS * LANES>;
#if KV_Q4_0
var<workgroup> codes_of: array<u32, HEADS * LANES>;  // four codes of four bits
#endif
#endif
#endif

@group(0) @binding(B_STEP) var<storage, read> step: array<u32>;
@group(0) @binding(B_QKV) var<storage, read_write> qkv: array<f32>;
@group(0) @binding(B_Q_OUT) var<storage, read_write> q_out: array<vec4<f32>>;
#ifdef APPENDS
@group(0) @binding(B_PAGES) var<storage, read> pages: array<u32>;
@group(0) @binding(B_K) var<storage, read_write> k_cache: array<CACHE_WORD>;
@group(0) @binding(B_V) var<storage, read_write> v_cache: array<CACHE_WORD>;
#endif
#if N_ROT > 0
@group(0) @binding(B_TABLE) var<storage, read> table: array<vec2<u32>>;
#endif
#ifdef B_NORMS
@group(0) @binding(B_NORMS) var<storage, read> norms: array<f32>;
var<workgroup> squares: array<f32, HEADS * LANES>;
#endif

#ifdef B_NORMS
#ifdef NORMS_LAST
#define ELEMENT(d) qkv[base + (d)]
#else
// Element d of a head at `base` of qkv, normalised; gamma at `gamma` of norms.
fn element(base: u32, d: u32, inverse: f32, gamma: u32) -> f32 {
  return qkv[base + d] * inverse * norms[gamma + d];
}
#define ELEMENT(d) element(base, d, inverse, gamma)
#endif
#else
#define ELEMENT(d) qkv[base + (d)]
#endif

#if KV_Q4_0
// The one of larger magnitude, a of equal ones; by their bits, whose order has NaN above all.
fn largest_of(a: f32, b: f32) -> f32 {
  return select(a, b, (bitcast<u32>(b) & 0x7fffffffu) > (bitcast<u32>(a) & 0x7fffffffu));
}
fn block_peak(block: u32) -> f32 {
  var peak = peaks[block];
  for (var i = 1u; i < 8u; i++) { peak = largest_of(peak, peaks[block + i]); }
  return peak;
}
#endif

@compute @workgroup_size(HEADS * LANES)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let lane = local % LANES;
  let wanted_head = workgroup.x * HEADS + local / LANES;
  let head = min(wanted_head, ALL_HEADS - 1u);
  let row = workgroup.y;
  let position = step[STEP_POSITIONS + row];
  let base = (row * ALL_HEADS + head) * HEAD_DIM;
  let first = lane * 4u;
  let plain = vec4<f32>(qkv[base + first], qkv[base + first + 1u], qkv[base + first + 2u], qkv[base + first + 3u]);

#ifdef B_NORMS
  squares[local] = dot(plain, plain);
  workgroupBarrier();
  var sum = 0.0;
  for (var i = 0u; i < LANES; i++) {
    sum += squares[local - lane + i];
  }
  let inverse = inverseSqrt(sum / f32(HEAD_DIM) + EPS);
  let gamma = select(0u, u32(HEAD_DIM), head >= N_HEADS);
#endif

#ifdef V_NORM
  var value = plain * inverse;
#else
  var value = plain;
#endif
  if (head < K_END) {
#for c in 0..4
    {
      let d = first + c##u;
#if N_ROT > 0
      if (d < N_ROT) {
#if NEOX
        let leading = d < N_ROT / 2;
        let pair = select(d - N_ROT / 2, d, leading);
        let other = select(d - N_ROT / 2, d + N_ROT / 2, leading);
#else
        let leading = (d & 1u) == 0u;
        let pair = d / 2u;
        let other = d ^ 1u;
#endif
        let angle = turn(TURNED_BY(position, row, pair), table[pair]);
        let cross = ELEMENT(other) * angle.y;
        value[c] = ELEMENT(d) * angle.x + select(cross, -cross, leading);
      } else {
        value[c] = ELEMENT(d);
      }
#else
      value[c] = ELEMENT(d);
#endif
    }
#endfor
#ifdef NORMS_LAST
    // A turn leaves the length of a head as it was.
    value *= inverse * vec4<f32>(norms[gamma + first], norms[gamma + first + 1u], norms[gamma + first + 2u], norms[gamma + first + 3u]);
#endif
  }

  if (wanted_head < N_HEADS) {
    q_out[(row * N_HEADS + head) * LANES + lane] = value * temperature(position);
  }
#ifdef APPENDS
  let is_k = wanted_head >= N_HEADS && wanted_head < K_END;
  let is_v = wanted_head >= K_END && wanted_head < ALL_HEADS;
  let kv_head = (max(head, u32(N_HEADS)) - N_HEADS) % N_KV_HEADS;
  let page = pages[page_entry(step[STEP_SEQUENCES + row], PAGES_PER_SEQUENCE, position)];
  let cache_row = kv_row(page, N_KV_HEADS, kv_head, position);
#if KV_F32
  let word = value;
#elif KV_F16
  let word = bounded_halves(value);
#elif KV_Q4_0
  // Scale = f16(m / -8) per 32 elements, m being the first of largest magnitude; code = x / scale + 8, rounded half up.
  peaks[local] = largest_of(largest_of(value.x, value.y), largest_of(value.z, value.w));
  workgroupBarrier();
  let block = local - lane % 8u;
  let half_scale = pack2x16float(vec2<f32>(block_peak(block) / -8.0, 0.0));
  let scale = unpack2x16float(half_scale).x;
  let inverse_scale = select(0.0, 1.0 / scale, scale != 0.0);
  let codes = vec4<u32>(clamp(floor(value * inverse_scale + 8.5), vec4<f32>(0.0), vec4<f32>(15.0)));
  codes_of[local] = codes.x | (codes.y << 4u) | (codes.z << 8u) | (codes.w << 12u);
  workgroupBarrier();
  // Every other invocation writes its own codes and its neighbour's.
  let word = codes_of[local - lane % 2u] | (codes_of[local - lane % 2u + 1u] << 16u);
  // The second scale of the word belongs to the next 32 elements of the same head, where there are any.
  var next_peak = 0.0;
  if (lane % 16u == 0u && lane + 8u < LANES) { next_peak = block_peak(block + 8u); }
  let scales = (half_scale & 0xffffu) | (pack2x16float(vec2<f32>(next_peak / -8.0, 0.0)) << 16u);
  let scale_word = SCALES_OFFSET / 4u + kv_scale_word(cache_row, HEAD_DIM, first);
#else
  // Scale = f16(max |x| / 127) per 32 elements, code = x / scale to the nearest integer.
  // Magnitudes are compared by their bits, whose order has NaN above all.
  let sizes = bitcast<vec4<u32>>(value) & vec4<u32>(0x7fffffffu);
  peaks[local] = bitcast<f32>(max(max(sizes.x, sizes.y), max(sizes.z, sizes.w)));
  workgroupBarrier();
  let block = local - lane % 8u;
  var peak = bitcast<u32>(peaks[block]);
  for (var i = 1u; i < 8u; i++) {
    peak = max(peak, bitcast<u32>(peaks[block + i]));
  }
  let half_scale = pack2x16float(vec2<f32>(bitcast<f32>(peak) / 127.0, 0.0));
  let scale = unpack2x16float(half_scale).x;
  let inverse_scale = select(0.0, 1.0 / scale, scale > 0.0);
  let codes = clamp(round(value * inverse_scale), vec4<f32>(-127.0), vec4<f32>(127.0));
  let word = pack4xI8(vec4<i32>(codes));
  // The second scale of the word belongs to the next 32 elements of the same head, where there are any.
  var next_peak = 0u;
  if (lane % 16u == 0u && lane + 8u < LANES) {
    for (var i = 8u; i < 16u; i++) {
      next_peak = max(next_peak, bitcast<u32>(peaks[block + i]));
    }
  }
  let scales = (half_scale & 0xffffu) | (pack2x16float(vec2<f32>(bitcast<f32>(next_peak) / 127.0, 0.0)) << 16u);
  let scale_word = SCALES_OFFSET / 4u + kv_scale_word(cache_row, HEAD_DIM, first);
#endif
  if (is_k) {
#if KV_Q4_0
    if (lane % 2u == 0u) { k_cache[(cache_row * LANES + lane) / 2u] = word; }
#else
    k_cache[cache_row * LANES + lane] = word;
#endif
#if KV_Q8_0 || KV_Q4_0
    if (lane % 16u == 0u) {
      k_cache[scale_word] = scales;
    }
#endif
  }
  if (is_v) {
#if KV_Q4_0
    if (lane % 2u == 0u) { v_cache[(cache_row * LANES + lane) / 2u] = word; }
#else
    v_cache[cache_row * LANES + lane] = word;
#endif
#if KV_Q8_0 || KV_Q4_0
    if (lane % 16u == 0u) {
      v_cache[scale_word] = scales;
    }
#endif
  }
#endif
}
