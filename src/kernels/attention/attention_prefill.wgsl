// Attention of many rows at once (attention.h): a workgroup takes one query head and a tile of TILE_ROWS rows, and walks over the keys
// in tiles of TILE_KEYS with the softmax kept online (FlashAttention). Both products are register tiles as in a matrix product:
// ROW_GROUPS x COLUMNS invocations; each has ROWS rows (row group + i ROW_GROUPS) and, for the scores, four keys in a row, for the
// output every COLUMNS-th vector of four elements. Heads go by COLUMNS vectors at a time: workgroup memory holds that part of K, then of V,
// of the tile's keys, and beside it that part of q, then the weights 2^(score - maximum). The next part's keys are requested before the
// products of the last. With HALVES the products and sums of 16 of them are f16, longer sums f32. So that those sums stay finite, q is
// divided by eight times its row's largest magnitude, and weights are an eighth (sums hold for values up to 32,000). Rows of one tile may
// belong to several sequences: each run of rows with one sequence walks over its own keys. Tiles that no row of the run may see (later, or
// before the window) are skipped. With OWN_KEYS keys and values are those of the step's rows, and a run is of rows with one span.
#include "common/kv_read.wgsl"

#ifdef OWN_KEYS
#define Q_HEADS ROW_HEADS
#else
#define Q_HEADS N_HEADS
#endif
#define WG (ROW_GROUPS * COLUMNS)
#define TILE_ROWS (ROW_GROUPS * ROWS)
#define TILE_KEYS (COLUMNS * 4)
#define HEAD_VECTORS (HEAD_DIM / 4)
#define V_VECTORS (V_DIM / 4)
#define K_PARTS ((HEAD_VECTORS + COLUMNS - 1) / COLUMNS)
#define V_PARTS ((V_VECTORS + COLUMNS - 1) / COLUMNS)
// Units of a part of a key, and those of a tile that an invocation moves.
#define PART_UNITS (COLUMNS / UNIT_VECTORS)
#define MOVES (TILE_KEYS * PART_UNITS / WG)
// Vectors of keys, and of a head, whose products are added up in a row; with HALVES, as halves.
#define STRETCH 4
#if HEAD_VECTORS % STRETCH == 0
#define HEAD_STRETCH STRETCH
#else
#define HEAD_STRETCH 1
#endif
#if HALVES
#define VEC vec4<f16>
#else
#define VEC vec4<f32>
#endif

@group(0) @binding(B_STEP) var<storage, read> step: array<u32>;
#ifdef B_PAGES
@group(0) @binding(B_PAGES) var<storage, read> pages: array<u32>;
#endif
#ifdef B_SPANS
@group(0) @binding(B_SPANS) var<storage, read_write> spans: array<vec2<u32>>;
var<workgroup> shared_run: vec3<u32>;  // first key, end of keys, end of the run
#endif
@group(0) @binding(B_Q) var<storage, read_write> q: array<vec4<f32>>;
@group(0) @binding(B_OUT) var<storage, read_write> out: array<vec4<f32>>;
#ifdef B_SINKS
@group(0) @binding(B_SINKS) var<storage, read> sinks: array<f32>;
#endif

#include "attention/span.wgsl"
#include "attention/alibi.wgsl"
#include "attention/biases.wgsl"
#include "attention/tiles.wgsl"

// K as [vector][key], the four keys of an invocation COLUMNS apart; V as [key][vector]; q as [vector][row]; weights as [row][column].
// q and K are stored by vectors of a row and read by rows: `turn` spreads both over the banks.
var<workgroup> tile: array<VEC, TILE_KEYS * COLUMNS>;
var<workgroup> beside: array<VEC, TILE_ROWS * COLUMNS>;
#if Q_STAYS
var<workgroup> tile_q: array<VEC, TILE_ROWS * COLUMNS>;
#else
#define tile_q beside
#endif
#if COLUMNS_SHUFFLE == 0
var<workgroup> shared_columns: array<f32, TILE_ROWS * COLUMNS>;
#endif

const TURN = min(COLUMNS, 8u) - 1u;
fn turn(vector: u32) -> u32 { return (vector >> 1u) & TURN; }

// A row's largest value or sum over the columns; without shuffles, of what they put into shared_columns.
#if COLUMNS_SHUFFLE
fn columns_max(own: f32, row: u32) -> f32 {
  var all = own;
  for (var mask = 1u; mask < TURNS(COLUMNS); mask = mask * 2u) { all = max(all, subgroupShuffleXor(all, mask)); }
  return all;
}
fn columns_sum(own: f32, row: u32) -> f32 {
  var all = own;
  for (var mask = 1u; mask < TURNS(COLUMNS); mask = mask * 2u) { all += subgroupShuffleXor(all, mask); }
  return all;
}
#else
fn columns_max(own: f32, row: u32) -> f32 {
  var all = own;
  for (var c = 0u; c < TURNS(COLUMNS); c++) { all = max(all, shared_columns[row * COLUMNS + c]); }
  return all;
}
fn columns_sum(own: f32, row: u32) -> f32 {
  var all = 0.0;
  for (var c = 0u; c < TURNS(COLUMNS); c++) { all += shared_columns[row * COLUMNS + c]; }
  return all;
}
#endif

// Scores are powers of two, unless a cap comes between.
#if SOFTCAP > 0
const FACTOR = SCALE;
#else
const FACTOR = SCALE * LOG2_E;
#endif
#if HALVES
const WEIGHT_OFFSET = 3.0;
#else
const WEIGHT_OFFSET = 0.0;
#endif
const LOWEST_MAXIMUM = 0.1 * LOWEST;  // 2^(LOWEST - it) is zero

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
  let row_group = local / COLUMNS;
  let column = local % COLUMNS;

#for i in 0..ROWS
  let in_tile_##i = row_group + i * ROW_GROUPS;
  let row_##i = tile_begin + in_tile_##i;
  let source_##i = (min(row_##i, tile_end - 1u) * Q_HEADS + head) * HEAD_VECTORS;
#if CAUSAL || WINDOW > 0 || defined(ALIBI) || defined(B_BIASES)
  let position_##i = step[STEP_POSITIONS + min(row_##i, tile_end - 1u)];
#endif
#ifdef B_SINKS
  var maximum_##i = sinks[head] * LOG2_E;
  var sum_##i = select(0.0, exp2(-WEIGHT_OFFSET), column == 0u);  // columns are added up in the end
#else
  var maximum_##i = LOWEST_MAXIMUM;
  var sum_##i = 0.0;
#endif
#for v in 0..V_PARTS
  var out_##i##_##v = vec4<f32>();
#endfor
#endfor

#if HALVES
#for i in 0..ROWS
  var peak_##i = 0.0;
  for (var vector = column; vector < HEAD_VECTORS; vector += COLUMNS) {
    let a = abs(q[source_##i + vector]);
    peak_##i = max(peak_##i, max(max(a.x, a.y), max(a.z, a.w)));
  }
#endfor
#if COLUMNS_SHUFFLE == 0
#for i in 0..ROWS
  shared_columns[in_tile_##i * COLUMNS + column] = peak_##i;
#endfor
  workgroupBarrier();
#endif
#for i in 0..ROWS
  peak_##i = columns_max(peak_##i, in_tile_##i);
#endfor
#for i in 0..ROWS
  let largest_##i = 8.0 * max(peak_##i, 1.0e-30);
  let inverse_##i = 1.0 / largest_##i;
  let factor_##i = FACTOR * largest_##i;
#endfor
#define Q_VEC(i, a) VEC((a) * inverse_##i)
#define SCALED(i, a) (a * factor_##i)
#else
#define Q_VEC(i, a) a
#define SCALED(i, a) (a * FACTOR)
#endif
#if Q_STAYS
#for i in 0..ROWS
  tile_q[column * TILE_ROWS + (in_tile_##i ^ turn(column))] = Q_VEC(i, q[source_##i + min(column, HEAD_VECTORS - 1u)]);
#endfor
#endif

  var run_begin = tile_begin;
  while (run_begin < tile_end) {
#ifdef B_SPANS
    if (local == 0u) {
      let span = spans[run_begin];
      var end = run_begin + 1u;
      while (end < tile_end && all(spans[end] == span)) { end++; }
      shared_run = vec3<u32>(span, end);
    }
    let run = workgroupUniformLoad(&shared_run);
    let key_begin = run.x;
    let key_end = run.y;
    let run_end = run.z;
    const table = 0u;
#elif defined(OWN_KEYS)
    const key_begin = 0u;
    let key_end = step[STEP_TOKEN_COUNT];
    let run_end = tile_end;
    const table = 0u;
#else
#include "attention/run.wgsl"
#if CAUSAL == 0
#if WINDOW > 0
    let within = highest + WINDOW;
#endif
    // All of the sequence's rows in the step are seen; they lie side by side.
    for (var other = run_begin; other > 0u && step[STEP_SEQUENCES + other - 1u] == sequence; other--) {
      highest = max(highest, step[STEP_POSITIONS + other - 1u]);
    }
    for (var other = run_end; other < step[STEP_TOKEN_COUNT] && step[STEP_SEQUENCES + other] == sequence; other++) {
      highest = max(highest, step[STEP_POSITIONS + other]);
    }
#endif
    let table = sequence * PAGES_PER_SEQUENCE;
#if CAUSAL == 0 && WINDOW > 0
    let key_end = min(highest + 1u, within);
#else
    let key_end = highest + 1u;
#endif
#if CAUSAL || WINDOW > 0
    let key_begin = FIRST_OF_RUN(lowest) / TILE_KEYS * TILE_KEYS;
#else
    const key_begin = 0u;
#endif
#endif
    // The keys that each row sees: none outside its run.
#for i in 0..ROWS
#if CAUSAL
    let end_##i = select(0u, LAST_SEEN(min(row_##i, tile_end - 1u), position_##i) + 1u, row_##i >= run_begin && row_##i < run_end);
    let begin_##i = FIRST_SEEN(min(row_##i, tile_end - 1u), position_##i);
#elif WINDOW > 0
    let end_##i = select(0u, min(key_end, position_##i + WINDOW), row_##i >= run_begin && row_##i < run_end);
    let begin_##i = FIRST_SEEN(min(row_##i, tile_end - 1u), position_##i);
#else
    let end_##i = select(0u, key_end, row_##i >= run_begin && row_##i < run_end);
    const begin_##i = 0u;
#endif
#endfor

#for n in 0..MOVES
    let key_of_##n = (local + n * WG) / PART_UNITS;
    let unit_of_##n = (local + n * WG) % PART_UNITS;
    var raw_##n = fetch_k(cache_row(table, kv_head, min(key_begin + key_of_##n, key_end - 1u)), min(unit_of_##n, UNITS - 1u));
#endfor
    for (var base = key_begin; base < key_end; base += TILE_KEYS) {
#for i in 0..ROWS
#for k in 0..4
      var score_##i##_##k = 0.0;
#endfor
#endfor
      for (var part = 0u; part < TURNS(K_PARTS); part++) {
        let vectors = min(u32(COLUMNS), HEAD_VECTORS - part * COLUMNS);
#for n in 0..MOVES
        {
          let unit = decoded(raw_##n, part * PART_UNITS + unit_of_##n);
          let vector = unit_of_##n * UNIT_VECTORS;
          let at = vector * TILE_KEYS + ((key_of_##n / 4u + key_of_##n % 4u * COLUMNS) ^ turn(vector));
          tile[at] = VEC(unit.low);
#if UNIT_VECTORS == 2
          tile[at + TILE_KEYS] = VEC(unit.high);
#endif
        }
#endfor
#if Q_STAYS == 0
#for i in 0..ROWS
        tile_q[column * TILE_ROWS + (in_tile_##i ^ turn(column))] =
            Q_VEC(i, q[source_##i + min(part * COLUMNS + column, HEAD_VECTORS - 1u)]);
#endfor
#endif
        workgroupBarrier();
#for n in 0..MOVES
        if (part + 1u < K_PARTS) {
          raw_##n = fetch_k(cache_row(table, kv_head, min(base + key_of_##n, key_end - 1u)),
                            min((part + 1u) * PART_UNITS + unit_of_##n, UNITS - 1u));
        } else {
          raw_##n = fetch_v(V_ROW(table, kv_head, min(base + key_of_##n, key_end - 1u)), min(unit_of_##n, V_UNITS - 1u));
        }
#endfor
        for (var first = 0u; first < TURNS(vectors); first += HEAD_STRETCH) {
#if HALVES
#for i in 0..ROWS
#for k in 0..4
          var halves_##i##_##k = vec2<f16>();
#endfor
#endfor
#endif
#for e in 0..HEAD_STRETCH
          {
            let d = first + e;
            let turned = turn(d);
#for k in 0..4
            let key_##k = tile[d * TILE_KEYS + (column ^ turned) + k * COLUMNS];
#endfor
#for i in 0..ROWS
            {
              let a = tile_q[d * TILE_ROWS + (row_group ^ turned) + i * ROW_GROUPS];
#for k in 0..4
#if HALVES
              halves_##i##_##k = fma(a.zw, key_##k.zw, fma(a.xy, key_##k.xy, halves_##i##_##k));
#else
              score_##i##_##k = fma(a.w, key_##k.w, fma(a.z, key_##k.z, fma(a.y, key_##k.y, fma(a.x, key_##k.x, score_##i##_##k))));
#endif
#endfor
            }
#endfor
          }
#endfor
#if HALVES
#for i in 0..ROWS
#for k in 0..4
          score_##i##_##k += f32(halves_##i##_##k.x) + f32(halves_##i##_##k.y);
#endfor
#endfor
#endif
        }
        workgroupBarrier();
      }

#for i in 0..ROWS
      var best_##i = LOWEST;
#for k in 0..4
      {
        let key = base + column * 4u + k;
        var score = SCALED(i, score_##i##_##k);
#if SOFTCAP > 0
        score = cap(score) * LOG2_E;
#endif
#ifdef ALIBI
        score += alibi(slope, key, position_##i);
#endif
#ifdef B_BIASES
        score += LOG2_E * bias(head, key, position_##i);
#endif
        score_##i##_##k = select(LOWEST, score, key < end_##i && key >= begin_##i);
        best_##i = max(best_##i, score_##i##_##k);
      }
#endfor
#endfor
#if COLUMNS_SHUFFLE == 0
#for i in 0..ROWS
      shared_columns[in_tile_##i * COLUMNS + column] = best_##i;
#endfor
      workgroupBarrier();
#endif
#for i in 0..ROWS
      best_##i = columns_max(best_##i, in_tile_##i);
#endfor

#for i in 0..ROWS
      {
        let raised = max(maximum_##i, best_##i);
        let shrink = exp2(maximum_##i - raised);
        maximum_##i = raised;
#for v in 0..V_PARTS
        out_##i##_##v *= shrink;
#endfor
        let weight = exp2(vec4<f32>(score_##i##_0, score_##i##_1, score_##i##_2, score_##i##_3) - (raised + WEIGHT_OFFSET));
        sum_##i = sum_##i * shrink + weight.x + weight.y + weight.z + weight.w;
        beside[in_tile_##i * COLUMNS + column] = VEC(weight);
      }
#endfor
      for (var part = 0u; part < TURNS(V_PARTS); part++) {
#for n in 0..MOVES
        {
          let unit = decoded(raw_##n, part * PART_UNITS + unit_of_##n);
          let at = key_of_##n * COLUMNS + unit_of_##n * UNIT_VECTORS;
          tile[at] = VEC(unit.low);
#if UNIT_VECTORS == 2
          tile[at + 1u] = VEC(unit.high);
#endif
        }
#endfor
        workgroupBarrier();
#for n in 0..MOVES
        if (part + 1u < V_PARTS) {
          raw_##n = fetch_v(V_ROW(table, kv_head, min(base + key_of_##n, key_end - 1u)),
                            min((part + 1u) * PART_UNITS + unit_of_##n, V_UNITS - 1u));
        } else {
          raw_##n = fetch_k(cache_row(table, kv_head, min(base + TILE_KEYS + key_of_##n, key_end - 1u)), min(unit_of_##n, UNITS - 1u));
        }
#endfor
#for i in 0..ROWS
        var sum_of_part_##i = vec4<f32>();
#endfor
        for (var first = 0u; first < TURNS(COLUMNS); first += STRETCH) {
#if HALVES
#for i in 0..ROWS
          var halves_##i = vec4<f16>();
#endfor
#define PRODUCTS(i) halves_##i
#else
#define PRODUCTS(i) sum_of_part_##i
#endif
#for e in 0..STRETCH
          {
#for k in 0..4
            let value_##k = tile[((first + e) * 4u + k) * COLUMNS + column];
#endfor
#for i in 0..ROWS
            {
              let weight = beside[in_tile_##i * COLUMNS + first + e];
              PRODUCTS(i) = fma(VEC(weight.y), value_1, fma(VEC(weight.x), value_0, PRODUCTS(i)));
              PRODUCTS(i) = fma(VEC(weight.w), value_3, fma(VEC(weight.z), value_2, PRODUCTS(i)));
            }
#endfor
          }
#endfor
#if HALVES
#for i in 0..ROWS
          sum_of_part_##i += vec4<f32>(halves_##i);
#endfor
#endif
        }
#for v in 0..V_PARTS
        if (part == v) {
#for i in 0..ROWS
          out_##i##_##v += sum_of_part_##i;
#endfor
        }
#endfor
        workgroupBarrier();
      }
    }
    run_begin = run_end;
  }

  // The sum over the columns, then the division.
#if COLUMNS_SHUFFLE == 0
#for i in 0..ROWS
  shared_columns[in_tile_##i * COLUMNS + column] = sum_##i;
#endfor
  workgroupBarrier();
#endif
#for i in 0..ROWS
  sum_##i = columns_sum(sum_##i, in_tile_##i);
#endfor
#for i in 0..ROWS
  if (row_##i < tile_end) {
#for v in 0..V_PARTS
    if (column + v * COLUMNS < V_VECTORS) {
      out[(row_##i * N_HEADS + head) * V_VECTORS + column + v * COLUMNS] = out_##i##_##v / sum_##i;
    }
#endfor
  }
#endfor
}
