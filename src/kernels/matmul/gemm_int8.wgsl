// Many rows of x times W in tiles, int8: both operands as packed bytes in workgroup memory, products by dp4a, sums in f32.
// 8 x TN invocations, each PARTS * 4 rows of x (eight apart) by eight weight rows (side by side, so that it holds whole gate and up groups);
// K goes by STEP_UNITS units at a time, or SETS of such invocations share it, each taking as many, and add up what they have at the end:
// few tiles, of short prompts, leave a GPU waiting for memory otherwise. A unit adds
//   s * x_scale * sum(q * x) + m * x_scale * sum(x)
// with the integer sums exact. With c = 1.5 * 2^23 and the bits of c + sum, which a chain of dp4a leaves (bits32), s * sum is one
// fma(bits, s, -c * s); where a device's fma rounds twice, sum is off by less than one.
// Filling a tile, neighbours read what lies side by side in memory: units of a weight row, rows of x (X8_BY_UNIT). They store it where
// the products read it without bank conflicts: [unit][half][slot], slot = (row of the invocation) * invocations + invocation. What a step
// stores was requested before the products of the step before it, and waits in registers as it lies in memory.
#include "common/step.wgsl"
#include "quant/planes.wgsl"

@group(0) @binding(B_W) var<storage, read> weights: array<vec4<u32>>;
@group(0) @binding(B_STEP) var<storage, read> step: array<u32>;
@group(0) @binding(B_Y) var<storage, read_write> y: array<f32>;
#include "matmul/activations.wgsl"
#include "matmul/gemm_rows.wgsl"
#include "matmul/epilogue.wgsl"

const SET = 8u * TN;
const WG = SET * SETS;
const STEP = STEP_UNITS * SETS;
const TILE_M = 32u * PARTS;
const TILE_N = 8u * TN;
var<workgroup> tile_x: array<vec4<u32>, STEP * 2 * TILE_M>;
var<workgroup> tile_w: array<vec4<u32>, STEP * 2 * TILE_N>;
// Scales and, where the type has mins, the factors of the sums of x: one number or pair for a unit, or for each half.
#if WEIGHT_SCALES == 2
#if WEIGHT_MIN
#define WHead vec4<f32>
#define W_HEAD(w) vec4<f32>(w.s, w.m)
#define XHead vec4<f32>
#define X_HEAD(h) h
#else
#define WHead vec2<f32>
#define W_HEAD(w) w.s
#define XHead f32
#define X_HEAD(h) h.x
#endif
#elif WEIGHT_MIN
#define WHead vec2<f32>
#define W_HEAD(w) vec2<f32>(w.s.x, w.m.x)
#define XHead vec2<f32>
#define X_HEAD(h) vec2<f32>(h.x, h.y + h.z)
#else
#define WHead f32
#define W_HEAD(w) w.s.x
#define XHead f32
#define X_HEAD(h) h.x
#endif
// The scale of a head of x, or of a weight's with one.
#if WEIGHT_MIN
#define SCALE_OF(head) head.x
#else
#define SCALE_OF(head) head
#endif
var<workgroup> head_x: array<XHead, STEP * TILE_M>;
var<workgroup> head_w: array<WHead, STEP * TILE_N>;

// Whether an item of x is one of the step's.
#if X_ITEMS * TN == STEP_UNITS * PARTS * 4
#define FILLS_X(unit) true
#else
#define FILLS_X(unit) unit < STEP
#endif

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(local_invocation_index) local: u32) {
#ifdef SLOTS
  let tile_rows = tile_of(wid);
  if (tile_rows.first >= tile_rows.end || !in_chunk(tile_rows.part)) { return; }
  let m_count = tile_rows.end;
  let m_first = tile_rows.first;
  let first_row = (tile_rows.part - FIRST_PART) * ROWS;
#else
  let m_count = step[ROW_COUNT];
  let m_first = wid.y * TILE_M;
#endif
  let n_first = wid.x * TILE_N;
  let tm = local % 8u;
  let tn = local / 8u % TN;
#if SETS > 1
  let own = local / SET;
#else
  let own = 0u;
#endif
#for p in 0..PARTS
#for i in 0..4
#for j in 0..8
  var acc_##p##_##i##_##j = 0.0;
#endfor
#endfor
#endfor

  // What this invocation fills in, for the first step. Units beyond the last repeat it and count for nothing.
  let w_unit = local % STEP;
#for e in 0..STEP_UNITS
  let w_slot_##e = (e * WG + local) / STEP;
  let n_##e = W_ROW(min(n_first + w_slot_##e % TN * 8u + w_slot_##e / TN, ROWS - 1u));
  var next_w_##e = ask(n_##e, min(w_unit, UNITS - 1u));
#endfor
#for e in 0..X_ITEMS
  let x_unit_##e = (e * WG + local) / TILE_M;
  let x_slot_##e = (e * WG + local) % TILE_M;
  let m_##e = X_OF(min(m_first + x_slot_##e, m_count - 1u));
  var next_x_##e: Bytes;
  if (FILLS_X(x_unit_##e)) { next_x_##e = load_bytes(m_##e, min(x_unit_##e, UNITS - 1u)); }
#endfor

  for (var first = 0u; first < UNITS; first += STEP) {
#for e in 0..STEP_UNITS
    {
      let w = arrived(next_w_##e, n_##e, min(first + w_unit, UNITS - 1u));
      let at = w_unit * TILE_N + w_slot_##e;
      tile_w[at + w_unit * TILE_N] = w.lo;
      tile_w[at + (w_unit + 1u) * TILE_N] = w.hi;
      head_w[at] = W_HEAD(w) * select(0.0, 1.0, first + w_unit < UNITS);
    }
#endfor
#for e in 0..X_ITEMS
    if (FILLS_X(x_unit_##e)) {
      tile_x[x_unit_##e * 2u * TILE_M + x_slot_##e] = next_x_##e.lo;
      tile_x[(x_unit_##e * 2u + 1u) * TILE_M + x_slot_##e] = next_x_##e.hi;
      head_x[x_unit_##e * TILE_M + x_slot_##e] = X_HEAD(next_x_##e.h);
    }
#endfor
    workgroupBarrier();
    let next = first + STEP;
#for e in 0..STEP_UNITS
    next_w_##e = ask(n_##e, min(next + w_unit, UNITS - 1u));
#endfor
#for e in 0..X_ITEMS
    if (FILLS_X(x_unit_##e)) { next_x_##e = load_bytes(m_##e, min(next + x_unit_##e, UNITS - 1u)); }
#endfor
#for k in 0..STEP_UNITS
    {
      let s = own * STEP_UNITS + k;
      // Four rows of x at a time: registers for all, and for what is on its way, would be too many.
#for p in 0..PARTS
      {
#for i in 0..4
        let lo_##i = tile_x[(s * 2u) * TILE_M + (p * 4 + i) * 8u + tm];
        let hi_##i = tile_x[(s * 2u + 1u) * TILE_M + (p * 4 + i) * 8u + tm];
        let h_##i = head_x[s * TILE_M + (p * 4 + i) * 8u + tm];
#endfor
#for j in 0..8
        {
          let w_lo = tile_w[(s * 2u) * TILE_N + j * TN + tn];
          let w_hi = tile_w[(s * 2u + 1u) * TILE_N + j * TN + tn];
          let head = head_w[s * TILE_N + j * TN + tn];
#if WEIGHT_SCALES == 2
          let zero_lo = -SUM_FLOAT * head.x;
          let zero_hi = -SUM_FLOAT * head.y;
#else
          let zero = -SUM_FLOAT * SCALE_OF(head);
#endif
#for i in 0..4
#if WEIGHT_SCALES == 2
          acc_##p##_##i##_##j = fma(fma(bits16(lo_##i, w_lo), head.x, zero_lo), SCALE_OF(h_##i), acc_##p##_##i##_##j);
          acc_##p##_##i##_##j = fma(fma(bits16(hi_##i, w_hi), head.y, zero_hi), SCALE_OF(h_##i), acc_##p##_##i##_##j);
#if WEIGHT_MIN
          acc_##p##_##i##_##j += head.z * h_##i.y + head.w * h_##i.z;
#endif
#else
          acc_##p##_##i##_##j = fma(fma(bits32(lo_##i, hi_##i, w_lo, w_hi), SCALE_OF(head), zero), SCALE_OF(h_##i), acc_##p##_##i##_##j);
#if WEIGHT_MIN
          acc_##p##_##i##_##j += head.y * h_##i.y;
#endif
#endif
#endfor
        }
#endfor
      }
#endfor
    }
#endfor
    workgroupBarrier();
  }

#if SETS > 1
  // Row i of every invocation's parts is added up by set i % SETS, which finishes it.
#for p in 0..PARTS
#for i in 0..4
  {
    let turn = (own + SETS - i % SETS) % SETS;
    let at = (turn * SET + local % SET - SET) * 2u;
    if (turn > 0u) {
      tile_w[at] = bitcast<vec4<u32>>(vec4<f32>(acc_##p##_##i##_0, acc_##p##_##i##_1, acc_##p##_##i##_2, acc_##p##_##i##_3));
      tile_w[at + 1u] = bitcast<vec4<u32>>(vec4<f32>(acc_##p##_##i##_4, acc_##p##_##i##_5, acc_##p##_##i##_6, acc_##p##_##i##_7));
    }
    workgroupBarrier();
    if (turn == 0u) {
      for (var other = 0u; other < SETS - 1u; other++) {
        let there = (other * SET + local % SET) * 2u;
        let low = bitcast<vec4<f32>>(tile_w[there]);
        let high = bitcast<vec4<f32>>(tile_w[there + 1u]);
#for j in 0..4
        acc_##p##_##i##_##j += low[j];
#endfor
#for j in 4..8
        acc_##p##_##i##_##j += high[j - 4];
#endfor
      }
    }
    workgroupBarrier();
  }
#endfor
#endfor
#endif
  let n = n_first + tn * 8u;
#for p in 0..PARTS
#for i in 0..4
  {
    let m = m_first + (p * 4 + i) * 8u + tm;
    if (m < m_count && own == i % SETS) {
      let low = vec4<f32>(acc_##p##_##i##_0, acc_##p##_##i##_1, acc_##p##_##i##_2, acc_##p##_##i##_3);
      let high = vec4<f32>(acc_##p##_##i##_4, acc_##p##_##i##_5, acc_##p##_##i##_6, acc_##p##_##i##_7);
#ifdef GATE
      for (var c = 0u; c < TURNS(4u) && n + c < ROWS; c++) { finish_gated(Y_OF(m), n / 2u + c, low[c], high[c]); }
#else
      for (var j = 0u; j < TURNS(8u) && n + j < ROWS; j++) { finish(Y_OF(m), n + j, select(low, high, j >= 4u)[j % 4u]); }
#endif
    }
  }
#endfor
#endfor
}
