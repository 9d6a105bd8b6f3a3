// Many rows of x times W in tiles, int8: both operands as packed bytes in workgroup memory, products by dp4a, sums in f32.
// 8 x TN invocations, each TM rows of x (eight apart) by eight weight rows (side by side, so that it holds whole gate and up groups);
// K goes by STEP_UNITS units at a time, or SETS of such invocations share it, each taking as many, and add up what they have at the end:
// few tiles, of short prompts, leave a GPU waiting for memory otherwise. A unit adds
//   s * x_scale * sum(q * x) + m * x_scale * sum(x)
// with the integer sums exact.
// Filling a tile, neighbours read what lies side by side in memory: units of a weight row, rows of x (X8_BY_UNIT). They store it where
// the products read it without bank conflicts: [unit][half][slot], slot = (row of the invocation) * invocations + invocation.
#include "common/step.wgsl"
#include "quant/planes.wgsl"

@group(0) @binding(B_W) var<storage, read> weights: array<vec4<u32>>;
@group(0) @binding(B_STEP) var<storage, read> step: array<u32>;
@group(0) @binding(B_Y) var<storage, read_write> y: array<f32>;
#include "matmul/activations.wgsl"
#include "matmul/tile_rows.wgsl"
#include "matmul/epilogue.wgsl"

const SET = 8u * TN;
const WG = SET * SETS;
const STEP = STEP_UNITS * SETS;
const TILE_M = 8u * TM;
const TILE_N = 8u * TN;
var<workgroup> tile_x: array<vec4<u32>, STEP * 2 * TILE_M>;
var<workgroup> tile_w: array<vec4<u32>, STEP * 2 * TILE_N>;
// Scales and, where the type has mins, the factors of the sums of x: one number or pair for a unit, or for each half.
#if WEIGHT_SCALES == 2
#define HEAD vec4<f32>
#define HEAD_W(w) vec4<f32>(w.s, w.m)
#define HEAD_X(h) h
#elif WEIGHT_MIN
#define HEAD vec2<f32>
#define HEAD_W(w) vec2<f32>(w.s.x, w.m.x)
#define HEAD_X(h) vec2<f32>(h.x, h.y + h.z)
#else
#define HEAD f32
#define HEAD_W(w) w.s.x
#define HEAD_X(h) h.x
#endif
var<workgroup> head_x: array<HEAD, STEP * TILE_M>;
var<workgroup> head_w: array<HEAD, STEP * TILE_N>;

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
  let own = local / SET;
#for i in 0..TM
#for j in 0..8
  var acc_##i##_##j = 0.0;
#endfor
#endfor

  for (var first = 0u; first < UNITS; first += STEP) {
    // Units beyond the last repeat it and count for nothing.
#for e in 0..STEP_UNITS
    {
      let item = e * WG + local;
      let slot = item / STEP;
      let u = first + item % STEP;
      let n = W_ROW(min(n_first + slot % TN * 8u + slot / TN, ROWS - 1u));
      let w = load_unit(load_group(n / 4u, min(u, UNITS - 1u)), n / 4u, n % 4u, min(u, UNITS - 1u));
      let at = item % STEP * TILE_N + slot;
      tile_w[at + item % STEP * TILE_N] = w.lo;
      tile_w[at + (item % STEP + 1u) * TILE_N] = w.hi;
      head_w[at] = HEAD_W(w) * select(0.0, 1.0, u < UNITS);
    }
#endfor
    for (var item = local; item < STEP * TILE_M; item += WG) {
      let unit = item / TILE_M;
      let slot = item % TILE_M;
      let b = load_bytes(X_OF(min(m_first + slot, m_count - 1u)), min(first + unit, UNITS - 1u));
      tile_x[unit * 2u * TILE_M + slot] = b.lo;
      tile_x[(unit * 2u + 1u) * TILE_M + slot] = b.hi;
      head_x[unit * TILE_M + slot] = HEAD_X(b.h);
    }
    workgroupBarrier();
    for (var s = own * STEP_UNITS; s < (own + 1u) * STEP_UNITS; s++) {
#for i in 0..TM
      let lo_##i = tile_x[(s * 2u) * TILE_M + i * 8u + tm];
      let hi_##i = tile_x[(s * 2u + 1u) * TILE_M + i * 8u + tm];
      let h_##i = head_x[s * TILE_M + i * 8u + tm];
#endfor
#for j in 0..8
      {
        let w_lo = tile_w[(s * 2u) * TILE_N + j * TN + tn];
        let w_hi = tile_w[(s * 2u + 1u) * TILE_N + j * TN + tn];
        let head = head_w[s * TILE_N + j * TN + tn];
#for i in 0..TM
#if WEIGHT_SCALES == 2
        acc_##i##_##j += h_##i.x * (dot16(lo_##i, w_lo) * head.x + dot16(hi_##i, w_hi) * head.y);
#if WEIGHT_MIN
        acc_##i##_##j += head.z * h_##i.y + head.w * h_##i.z;
#endif
#elif WEIGHT_MIN
        acc_##i##_##j += dot32(lo_##i, hi_##i, w_lo, w_hi) * (head.x * h_##i.x);
        acc_##i##_##j += head.y * h_##i.y;
#else
        acc_##i##_##j += dot32(lo_##i, hi_##i, w_lo, w_hi) * (head * h_##i);
#endif
#endfor
      }
#endfor
    }
    workgroupBarrier();
  }

#if SETS > 1
  // Row i of every invocation's rows is added up by set i % SETS, which finishes it.
#for i in 0..TM
  {
    let turn = (own + SETS - i % SETS) % SETS;
    let at = (turn * SET + local % SET - SET) * 2u;
    if (turn > 0u) {
      tile_w[at] = bitcast<vec4<u32>>(vec4<f32>(acc_##i##_0, acc_##i##_1, acc_##i##_2, acc_##i##_3));
      tile_w[at + 1u] = bitcast<vec4<u32>>(vec4<f32>(acc_##i##_4, acc_##i##_5, acc_##i##_6, acc_##i##_7));
    }
    workgroupBarrier();
    if (turn == 0u) {
      for (var other = 0u; other < SETS - 1u; other++) {
        let there = (other * SET + local % SET) * 2u;
        let low = bitcast<vec4<f32>>(tile_w[there]);
        let high = bitcast<vec4<f32>>(tile_w[there + 1u]);
#for j in 0..4
        acc_##i##_##j += low[j];
#endfor
#for j in 4..8
        acc_##i##_##j += high[j - 4];
#endfor
      }
    }
    workgroupBarrier();
  }
#endfor
#endif
  let n = n_first + tn * 8u;
#for i in 0..TM
  {
    let m = m_first + i * 8u + tm;
    if (m < m_count && own == i % SETS) {
#ifdef GATE
      let gate = vec4<f32>(acc_##i##_0, acc_##i##_1, acc_##i##_2, acc_##i##_3);
      let up = vec4<f32>(acc_##i##_4, acc_##i##_5, acc_##i##_6, acc_##i##_7);
#for c in 0..4
      if (n + c < ROWS) { finish_gated(Y_OF(m), n / 2u + c, gate[c], up[c]); }
#endfor
#else
#for j in 0..8
      if (n + j < ROWS) { finish(Y_OF(m), n + j, acc_##i##_##j); }
#endfor
#endif
    }
  }
#endfor
}
