// Attention of many rows at once (attention.h) by matrix units (subgroup matrices), operands of common/matrix_units.wgsl and f32 sums; causal. A workgroup takes
// one query head and TILE_ROWS rows, MATRIX_M of them a subgroup, and walks over the keys in tiles of KEYS as attention_prefill.wgsl does.
// Q stays in fragments. Scores go through workgroup memory, where ROW_LANES lanes share a row; the weights replace them. What a
// row subtracts from its scores only has to be near their maximum: it is raised, and the sums are scaled, when a score exceeds it by
// more than RAISE (in powers of two), which is rare after the first tile. K and then V pass through the same memory; the next of them is
// requested before the products of the last.
#include "common/kv_read.wgsl"
#include "common/matrix_units.wgsl"
#define V_UNITS (V_DIM / UNIT_ELEMENTS)

const LANES = u32(SUBGROUP_MAX);
const WG = SUBGROUP_COUNT * SUBGROUP_MAX;
#define ROW_LANES (SUBGROUP_MAX / MATRIX_M)
const TILE_ROWS = SUBGROUP_COUNT * MATRIX_M;
// One vec4 more a row keeps neighbours in different banks.
const KEY_STRIDE = UNITS * VECS_OF_EIGHT + 1u;
// In vec4 of four scores; eight weights take no more.
const SCORE_VECS = KEYS / 4u;
const SCORE_STRIDE = SCORE_VECS + 1u;
const RAISE = 8.0;

@group(0) @binding(B_STEP) var<storage, read> step: array<u32>;
@group(0) @binding(B_PAGES) var<storage, read> pages: array<u32>;
@group(0) @binding(B_Q) var<storage, read_write> q: array<vec4<f32>>;
@group(0) @binding(B_OUT) var<storage, read_write> out: array<vec4<f32>>;
#ifdef B_SINKS
@group(0) @binding(B_SINKS) var<storage, read> sinks: array<f32>;
#endif

#include "attention/span.wgsl"
#include "attention/alibi.wgsl"
#include "attention/tiles.wgsl"

var<workgroup> tile: array<vec4<u32>, KEYS * KEY_STRIDE>;              // Q, then K and V by turns
var<workgroup> scores: array<vec4<u32>, TILE_ROWS * SCORE_STRIDE>;     // scores, weights, sums on their way
var<workgroup> raised: atomic<u32>;                                    // the last tile that raised a maximum

// A unit of a cache row as halves.
#if KV_F16
fn k_halves(row: u32, unit: u32) -> vec4<u32> { return k_cache[row * UNITS + unit]; }
fn v_halves(row: u32, unit: u32) -> vec4<u32> { return v_cache[row * UNITS + unit]; }
#else
fn k_halves(row: u32, unit: u32) -> vec4<u32> { return packed_unit(k_unit(row, unit)); }
fn v_halves(row: u32, unit: u32) -> vec4<u32> { return packed_unit(v_unit(row, unit)); }
fn packed_unit(u: Unit) -> vec4<u32> { return eight_halves(u.low, u.high); }
#endif

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(num_workgroups) workgroups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
  let head = workgroup.x;
  let kv_head = head / GROUP_HEADS;
#ifdef ALIBI
  let slope = LOG2_E * alibi_slope(head);
#endif
  // The tiles with the most keys start first.
  let tile_begin = step[STEP_SINGLE_COUNT] + (workgroups.y - 1u - workgroup.y) * TILE_ROWS;
  let tile_end = min(tile_begin + TILE_ROWS, step[STEP_TOKEN_COUNT]);
  let subgroup = local / LANES;
  let part = local % LANES % ROW_LANES;
  // The row whose scores this lane shares; where they lie, and those of its subgroup.
  let row = tile_begin + local / ROW_LANES;
  let seen_row = min(row, tile_end - 1u);
  let position = step[STEP_POSITIONS + seen_row];
  let mine = local / ROW_LANES * SCORE_STRIDE;
  let ours = subgroup * (MATRIX_M * SCORE_STRIDE);
#ifdef B_SINKS
  var maximum = sinks[head] * LOG2_E;
  var sum = select(0.0, 1.0, part == 0u);  // lanes are added up in the end
#else
  var maximum = LOWEST;
  var sum = 0.0;
#endif
  if (local == 0u) { atomicStore(&raised, 0u); }

  for (var i = local; i < TILE_ROWS * UNITS; i += WG) {
    let source = (min(tile_begin + i / UNITS, tile_end - 1u) * N_HEADS + head) * (HEAD_DIM / 4) + i % UNITS * 2u;
    STORE_EIGHT(tile, i / UNITS * KEY_STRIDE + i % UNITS * VECS_OF_EIGHT, q[source] * Q_SCALE, q[source + 1u] * Q_SCALE);
  }
  workgroupBarrier();
#for f in 0..HEAD_DIM / MATRIX_K
  let q_##f = subgroupMatrixLoad<subgroup_matrix_left<Operand, MATRIX_K, MATRIX_M>, row_major>(
      &tile, subgroup * MATRIX_M * KEY_STRIDE + f * (MATRIX_K / 8 * VECS_OF_EIGHT), KEY_STRIDE);
#endfor
#for f in 0..V_DIM / MATRIX_N
  var out_##f = subgroup_matrix_result<f32, MATRIX_N, MATRIX_M>();
#endfor
  workgroupBarrier();

  var n_tiles = 0u;
  var run_begin = tile_begin;
  while (run_begin < tile_end) {
#include "attention/run.wgsl"
    let in_run = row >= run_begin && row < run_end;
    let table = sequence * PAGES_PER_SEQUENCE;
    let last = highest;
    let key_begin = FIRST_OF_RUN(lowest) / KEYS * KEYS;

#for p in 0..K_PASSES
    var k_##p = k_halves(cache_row(table, kv_head, min(key_begin + (local + p * WG) / UNITS, last)), (local + p * WG) % UNITS);
#endfor
    for (var base = key_begin; base <= last; base += KEYS) {
      n_tiles++;
#for p in 0..K_PASSES
      STORE_HALVES(tile, (local + p * WG) / UNITS * KEY_STRIDE + (local + p * WG) % UNITS * VECS_OF_EIGHT, k_##p);
#endfor
      workgroupBarrier();
#for p in 0..V_PASSES
      let v_##p = v_halves(cache_row(table, kv_head, min(base + (local + p * WG) / V_UNITS, last)), (local + p * WG) % V_UNITS);
#endfor

#for j in 0..KEYS / MATRIX_N
      {
        var score = subgroup_matrix_result<f32, MATRIX_N, MATRIX_M>();
#for f in 0..HEAD_DIM / MATRIX_K
        score = subgroupMatrixMultiplyAccumulate(
            q_##f,
            subgroupMatrixLoad<subgroup_matrix_right<Operand, MATRIX_N, MATRIX_K>, col_major>(
                &tile, j * MATRIX_N * KEY_STRIDE + f * (MATRIX_K / 8 * VECS_OF_EIGHT), KEY_STRIDE),
            score);
#endfor
        subgroupMatrixStore<row_major>(&scores, ours + j * (MATRIX_N / 4), score, SCORE_STRIDE);
      }
#endfor
      workgroupBarrier();
#for p in 0..V_PASSES
      STORE_HALVES(tile, (local + p * WG) / V_UNITS * KEY_STRIDE + (local + p * WG) % V_UNITS * VECS_OF_EIGHT, v_##p);
#endfor

      // Each lane has eight keys in a row of every ROW_LANES eights.
      var best = LOWEST;
#for u in 0..KEYS / 8 / ROW_LANES
#for h in 0..2
      var score_##u##_##h = bitcast<vec4<f32>>(scores[mine + (u * ROW_LANES + part) * 2u + h]);
      {
        let keys = base + (u * ROW_LANES + part) * 8u + h * 4u + vec4<u32>(0u, 1u, 2u, 3u);
#if SOFTCAP > 0
        score_##u##_##h = LOG2_E * vec4<f32>(cap(score_##u##_##h.x), cap(score_##u##_##h.y), cap(score_##u##_##h.z), cap(score_##u##_##h.w));
#endif
#ifdef ALIBI
        score_##u##_##h -= slope * abs(vec4<f32>(keys) - f32(position));
#endif
        let seen = (keys <= vec4<u32>(LAST_SEEN(seen_row, position))) & (keys >= vec4<u32>(FIRST_SEEN(seen_row, position))) & vec4<bool>(in_run);
        score_##u##_##h = select(vec4<f32>(LOWEST), score_##u##_##h, seen);
        let pairs = max(score_##u##_##h.xy, score_##u##_##h.zw);
        best = max(best, max(pairs.x, pairs.y));
      }
#endfor
#endfor
      for (var mask = 1u; mask < ROW_LANES; mask = mask * 2u) { best = max(best, subgroupShuffleXor(best, mask)); }
      if (best > maximum + RAISE) { atomicStore(&raised, n_tiles); }
      if (workgroupUniformLoad(&raised) == n_tiles) {
        let higher = max(maximum, best);
        let shrink = exp2(maximum - higher);
        maximum = higher;
        sum *= shrink;
#for f in 0..V_DIM / MATRIX_N
        subgroupMatrixStore<row_major>(&scores, ours + f % (KEYS / MATRIX_N) * (MATRIX_N / 4), out_##f, SCORE_STRIDE);
#if f % (KEYS / MATRIX_N) == KEYS / MATRIX_N - 1 || f == V_DIM / MATRIX_N - 1
        workgroupBarrier();
        for (var i = part; i < SCORE_VECS; i += ROW_LANES) {
          scores[mine + i] = bitcast<vec4<u32>>(bitcast<vec4<f32>>(scores[mine + i]) * shrink);
        }
        workgroupBarrier();
#for g in f / (KEYS / MATRIX_N) * (KEYS / MATRIX_N)..f + 1
        out_##g = subgroupMatrixLoad<subgroup_matrix_result<f32, MATRIX_N, MATRIX_M>, row_major>(
            &scores, ours + g % (KEYS / MATRIX_N) * (MATRIX_N / 4), SCORE_STRIDE);
#endfor
        workgroupBarrier();
#endif
#endfor
      }

      // A row that has seen no key yet has weights of zero.
      let subtracted = max(maximum, 0.5 * LOWEST);
#for u in 0..KEYS / 8 / ROW_LANES
      {
        let low = exp2(score_##u##_0 - subtracted);
        let high = exp2(score_##u##_1 - subtracted);
        let four = low + high;
        sum += four.x + four.y + four.z + four.w;
        STORE_EIGHT(scores, mine + (u * ROW_LANES + part) * VECS_OF_EIGHT, low, high);
      }
#endfor
      workgroupBarrier();
#for p in 0..K_PASSES
      k_##p = k_halves(cache_row(table, kv_head, min(base + KEYS + (local + p * WG) / UNITS, last)), (local + p * WG) % UNITS);
#endfor
#for k in 0..KEYS / MATRIX_K
      {
        let weights = subgroupMatrixLoad<subgroup_matrix_left<Operand, MATRIX_K, MATRIX_M>, row_major>(
            &scores, ours + k * (MATRIX_K / 8 * VECS_OF_EIGHT), SCORE_STRIDE);
#for f in 0..V_DIM / MATRIX_N
        out_##f = subgroupMatrixMultiplyAccumulate(
            weights,
            subgroupMatrixLoad<subgroup_matrix_right<Operand, MATRIX_N, MATRIX_K>, row_major>(
                &tile, k * MATRIX_K * KEY_STRIDE + f * (MATRIX_N / 8 * VECS_OF_EIGHT), KEY_STRIDE),
            out_##f);
#endfor
      }
#endfor
      workgroupBarrier();
    }
    run_begin = run_end;
  }

  for (var mask = 1u; mask < ROW_LANES; mask = mask * 2u) { sum += subgroupShuffleXor(sum, mask); }
  let to = (row * N_HEADS + head) * (V_DIM / 4);
#for f in 0..V_DIM / MATRIX_N
  subgroupMatrixStore<row_major>(&scores, ours + f % (KEYS / MATRIX_N) * (MATRIX_N / 4), out_##f, SCORE_STRIDE);
#if f % (KEYS / MATRIX_N) == KEYS / MATRIX_N - 1 || f == V_DIM / MATRIX_N - 1
  workgroupBarrier();
  if (row < tile_end) {
    const first = f / (KEYS / MATRIX_N) * SCORE_VECS;
    for (var i = part; i < min(SCORE_VECS, V_DIM / 4 - first); i += ROW_LANES) {
      out[to + first + i] = bitcast<vec4<f32>>(scores[mine + i]) / sum;
    }
  }
  workgroupBarrier();
#endif
#endfor
}
