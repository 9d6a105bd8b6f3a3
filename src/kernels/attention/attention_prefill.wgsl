// Attention of many rows at once (attention.h): a workgroup takes one query head and a tile of TILE_ROWS rows, and walks over the keys
// in tiles of TILE_KEYS with the softmax kept online (FlashAttention). Both products are register tiles as in a matrix product:
// ROW_GROUPS x COLUMNS invocations; each has ROWS rows (row group + i ROW_GROUPS) and, for the scores, KEYS keys in a row (one vector of
// the weights tile), for the output every COLUMNS-th vector of four elements. K and then V pass through the same workgroup memory as
// f32, K with its keys permuted so that the columns of a group read neighbours; q is read through the cache. Rows of one tile may belong
// to several sequences: each run of rows with one sequence walks over its own keys. Tiles that no row of the run may see (later, or
// before the window) are skipped.
#include "common/kv_read.wgsl"

#define WG (ROW_GROUPS * COLUMNS)
#define TILE_ROWS (ROW_GROUPS * ROWS)
#define TILE_KEYS (COLUMNS * KEYS)
#define HEAD_VECTORS (HEAD_DIM / 4)
#define V_VECTORS (V_DIM / 4)
#define VECTORS ((V_VECTORS + COLUMNS - 1) / COLUMNS)
// One vector of padding a row keeps what a subgroup reads at a time in different banks.
#define KEY_STRIDE (HEAD_VECTORS + 1)
#define WEIGHT_STRIDE (COLUMNS + 1)
#if KEYS == 1
#define WEIGHTS f32
#define WEIGHT_LIST weight_0
#define WEIGHT(v, k) v
#else
#define WEIGHTS vec##KEYS<f32>
#if KEYS == 2
#define WEIGHT_LIST weight_0, weight_1
#else
#define WEIGHT_LIST weight_0, weight_1, weight_2, weight_3
#endif
#define WEIGHT(v, k) v[k]
#endif

@group(0) @binding(B_STEP) var<storage, read> step: array<u32>;
@group(0) @binding(B_PAGES) var<storage, read> pages: array<u32>;
@group(0) @binding(B_Q) var<storage, read_write> q: array<vec4<f32>>;
@group(0) @binding(B_OUT) var<storage, read_write> out: array<vec4<f32>>;
#ifdef B_SINKS
@group(0) @binding(B_SINKS) var<storage, read> sinks: array<f32>;
#endif

#include "attention/span.wgsl"

var<workgroup> tile: array<vec4<f32>, TILE_KEYS * KEY_STRIDE>;          // K, then V
var<workgroup> weights: array<WEIGHTS, TILE_ROWS * WEIGHT_STRIDE>;      // exp(score - maximum), [row][column]
#if COLUMNS_SHUFFLE == 0
var<workgroup> shared_columns: array<f32, TILE_ROWS * COLUMNS>;
#endif

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(num_workgroups) workgroups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
  let head = workgroup.x;
  let kv_head = head / GROUP_HEADS;
  // The tiles with the most keys start first.
  let tile_begin = (workgroups.y - 1u - workgroup.y) * TILE_ROWS;
  let tile_end = min(tile_begin + TILE_ROWS, step[STEP_TOKEN_COUNT]);
  let row_group = local / COLUMNS;
  let column = local % COLUMNS;

#for i in 0..ROWS
  let row_##i = tile_begin + row_group + i * ROW_GROUPS;
  let source_##i = (min(row_##i, tile_end - 1u) * N_HEADS + head) * HEAD_VECTORS;
#if CAUSAL
  let position_##i = step[STEP_POSITIONS + min(row_##i, tile_end - 1u)];
#endif
#ifdef B_SINKS
  var maximum_##i = sinks[head];
  var sum_##i = select(0.0, 1.0, column == 0u);  // columns are added up in the end
#else
  var maximum_##i = LOWEST;
  var sum_##i = 0.0;
#endif
#for v in 0..VECTORS
  var out_##i##_##v = vec4<f32>();
#endfor
#endfor

  var run_begin = tile_begin;
  while (run_begin < tile_end) {
    // The run of rows of one sequence, and the keys that any of them sees.
    let sequence = step[STEP_SEQUENCES + run_begin];
    var lowest = step[STEP_POSITIONS + run_begin];
    var highest = lowest;
    var run_end = run_begin + 1u;
    while (run_end < tile_end && step[STEP_SEQUENCES + run_end] == sequence) {
      lowest = min(lowest, step[STEP_POSITIONS + run_end]);
      highest = max(highest, step[STEP_POSITIONS + run_end]);
      run_end++;
    }
#if CAUSAL == 0
    // All of the sequence's rows in the step are seen; they lie side by side.
    for (var other = run_begin; other > 0u && step[STEP_SEQUENCES + other - 1u] == sequence; other--) {
      highest = max(highest, step[STEP_POSITIONS + other - 1u]);
    }
    for (var other = run_end; other < step[STEP_TOKEN_COUNT] && step[STEP_SEQUENCES + other] == sequence; other++) {
      highest = max(highest, step[STEP_POSITIONS + other]);
    }
#endif
    let table = sequence * PAGES_PER_SEQUENCE;
    let key_end = highest + 1u;

#if CAUSAL
    let key_begin = first_visible(lowest) / TILE_KEYS * TILE_KEYS;
#else
    const key_begin = 0u;
#endif
    for (var base = key_begin; base < key_end; base += TILE_KEYS) {
      for (var i = local; i < TILE_KEYS * UNITS; i += WG) {
        let key = min(base + i / UNITS % COLUMNS * KEYS + i / UNITS / COLUMNS, key_end - 1u);
        let cache_row = kv_row(pages[table + key / PAGE_TOKENS], N_KV_HEADS, kv_head, key);
        let unit = k_unit(cache_row, i % UNITS);
        let at = i / UNITS * KEY_STRIDE + i % UNITS * UNIT_VECTORS;
        tile[at] = unit.low;
#if UNIT_VECTORS == 2
        tile[at + 1u] = unit.high;
#endif
      }
      workgroupBarrier();

#for i in 0..ROWS
#for k in 0..KEYS
      var score_##i##_##k = 0.0;
#endfor
#endfor
      for (var d = 0u; d < HEAD_VECTORS; d++) {
#for k in 0..KEYS
        let key_##k = tile[(column + k * COLUMNS) * KEY_STRIDE + d];
#endfor
#for i in 0..ROWS
        let q_##i = q[source_##i + d];
#for k in 0..KEYS
        score_##i##_##k += dot(q_##i, key_##k);
#endfor
#endfor
      }

#for i in 0..ROWS
      var best_##i = LOWEST;
#for k in 0..KEYS
#if CAUSAL
      let seen_##i##_##k = row_##i >= run_begin && row_##i < run_end && base + column * KEYS + k <= position_##i &&
                           base + column * KEYS + k >= first_visible(position_##i);
#else
      let seen_##i##_##k = row_##i >= run_begin && row_##i < run_end && base + column * KEYS + k < key_end;
#endif
      score_##i##_##k *= SCALE;
#if SOFTCAP > 0
      score_##i##_##k = cap(score_##i##_##k);
#endif
      best_##i = max(best_##i, select(LOWEST, score_##i##_##k, seen_##i##_##k));
#endfor
#endfor
#if COLUMNS_SHUFFLE
#for i in 0..ROWS
      for (var mask = 1u; mask < COLUMNS; mask = mask * 2u) {
        best_##i = max(best_##i, subgroupShuffleXor(best_##i, mask));
      }
#endfor
#else
#for i in 0..ROWS
      shared_columns[(row_group + i * ROW_GROUPS) * COLUMNS + column] = best_##i;
#endfor
      workgroupBarrier();
#for i in 0..ROWS
      for (var c = 0u; c < COLUMNS; c++) {
        best_##i = max(best_##i, shared_columns[(row_group + i * ROW_GROUPS) * COLUMNS + c]);
      }
#endfor
#endif

#for i in 0..ROWS
      {
        let raised = max(maximum_##i, best_##i);
        let shrink = exp(maximum_##i - raised);
        maximum_##i = raised;
        sum_##i *= shrink;
#for v in 0..VECTORS
        out_##i##_##v *= shrink;
#endfor
#for k in 0..KEYS
        let weight_##k = select(0.0, exp(score_##i##_##k - raised), seen_##i##_##k);
        sum_##i += weight_##k;
#endfor
        weights[(row_group + i * ROW_GROUPS) * WEIGHT_STRIDE + column] = WEIGHTS(WEIGHT_LIST);
      }
#endfor
      workgroupBarrier();

      for (var i = local; i < TILE_KEYS * V_UNITS; i += WG) {
        let key = min(base + i / V_UNITS, key_end - 1u);
        let cache_row = kv_row(pages[table + key / PAGE_TOKENS], N_KV_HEADS, kv_head, key);
        let unit = v_unit(cache_row, i % V_UNITS);
        let at = i / V_UNITS * KEY_STRIDE + i % V_UNITS * UNIT_VECTORS;
        tile[at] = unit.low;
#if UNIT_VECTORS == 2
        tile[at + 1u] = unit.high;
#endif
      }
      workgroupBarrier();

      for (var c = 0u; c < COLUMNS; c++) {
#for i in 0..ROWS
        let weight_##i = weights[(row_group + i * ROW_GROUPS) * WEIGHT_STRIDE + c];
#endfor
#for v in 0..VECTORS
#for k in 0..KEYS
        {
          let value = tile[(c * KEYS + k) * KEY_STRIDE + min(column + v * COLUMNS, V_VECTORS - 1u)];
#for i in 0..ROWS
          out_##i##_##v += WEIGHT(weight_##i, k) * value;
#endfor
        }
#endfor
#endfor
      }
      workgroupBarrier();
    }
    run_begin = run_end;
  }

  // The sum over the columns, then the division.
#if COLUMNS_SHUFFLE
#for i in 0..ROWS
  for (var mask = 1u; mask < COLUMNS; mask = mask * 2u) {
    sum_##i += subgroupShuffleXor(sum_##i, mask);
  }
#endfor
#else
#for i in 0..ROWS
  shared_columns[(row_group + i * ROW_GROUPS) * COLUMNS + column] = sum_##i;
#endfor
  workgroupBarrier();
#for i in 0..ROWS
  sum_##i = 0.0;
  for (var c = 0u; c < COLUMNS; c++) {
    sum_##i += shared_columns[(row_group + i * ROW_GROUPS) * COLUMNS + c];
  }
#endfor
#endif
#for i in 0..ROWS
  if (row_##i < tile_end) {
#for v in 0..VECTORS
    if (column + v * COLUMNS < V_VECTORS) {
      out[(row_##i * N_HEADS + head) * V_VECTORS + column + v * COLUMNS] = out_##i##_##v / sum_##i;
    }
#endfor
  }
#endfor
}
