// The key row of a token for a compressed cache, and the turned part of its queries (mla.h); a workgroup takes a row. The key row is put
// together in workgroup memory and then encoded as the cache keeps it, a run of 64 elements an invocation at most, so that every stored
// word has one writer.
#include "common/step.wgsl"
#include "common/reduce.wgsl"
#include "rope/turn.wgsl"

@group(0) @binding(B_STEP) var<storage, read> step: array<u32>;
@group(0) @binding(B_PAGES) var<storage, read> pages: array<u32>;
@group(0) @binding(B_QUERIES) var<storage, read_write> q: array<f32>;
@group(0) @binding(B_KV) var<storage, read_write> kv: array<f32>;
@group(0) @binding(B_GAMMA) var<storage, read> gamma: array<f32>;
@group(0) @binding(B_TABLE) var<storage, read> table: array<vec2<u32>>;
@group(0) @binding(B_Q_OUT) var<storage, read_write> q_out: array<f32>;
@group(0) @binding(B_K) var<storage, read_write> k_cache: array<u32>;

const PAIRS = N_ROT / 2u;
var<workgroup> key: array<f32, HEAD_DIM>;

// The two elements of pair i.
#if NEOX
fn first_of(i: u32) -> u32 { return i; }
fn second_of(i: u32) -> u32 { return i + PAIRS; }
#else
fn first_of(i: u32) -> u32 { return 2u * i; }
fn second_of(i: u32) -> u32 { return 2u * i + 1u; }
#endif
fn rotated(a: f32, b: f32, angle: vec2<f32>) -> vec2<f32> {
  return vec2<f32>(a * angle.x - b * angle.y, a * angle.y + b * angle.x);
}

#include "common/kv_encode.wgsl"

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) wid: vec3<u32>, LANE_BUILTINS) {
  let row = wid.x;
  let position = step[STEP_POSITIONS + row];
  for (var i = local; i < N_HEADS * PAIRS; i += WG) {
    let pair = i % PAIRS;
    let source_at = (row * N_HEADS + i / PAIRS) * Q_DIM + N_NOPE;
    let result_at = (row * N_HEADS + i / PAIRS) * HEAD_DIM + N_LATENT;
    let v = rotated(q[source_at + first_of(pair)], q[source_at + second_of(pair)], turn(position, table[pair]));
    q_out[result_at + first_of(pair)] = v.x;
    q_out[result_at + second_of(pair)] = v.y;
  }
  let base = row * HEAD_DIM;
  for (var pair = local; pair < PAIRS; pair += WG) {
    let source_at = base + N_LATENT;
    let v = rotated(kv[source_at + first_of(pair)], kv[source_at + second_of(pair)], turn(position, table[pair]));
    key[N_LATENT + first_of(pair)] = v.x;
    key[N_LATENT + second_of(pair)] = v.y;
  }
  var squares = 0.0;
  for (var i = local; i < N_LATENT; i += WG) { squares += kv[base + i] * kv[base + i]; }
  let inverse = inverseSqrt(workgroup_sum(squares, LANES) / f32(N_LATENT) + EPS);
  for (var i = local; i < N_LATENT; i += WG) { key[i] = kv[base + i] * inverse * gamma[i]; }
  workgroupBarrier();
  let page = pages[page_entry(step[STEP_SEQUENCES + row], PAGES_PER_SEQUENCE, position)];
  encode_key(kv_row(page, 1u, 0u, position), local);
}
