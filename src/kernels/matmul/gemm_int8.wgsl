// Many rows of x times W in tiles, int8: both operands as packed bytes in workgroup memory, products by dp4a, sums in f32.
// The shape is that of gemm.wgsl: 8 x 8 invocations, TM x 8 outputs each; K goes by STEP_UNITS units at a time. A unit adds
//   s * x_scale * sum(q * x) + m * x_scale * sum(x)
// with the integer sums exact.
#define X_INT8
#include "common/step.wgsl"
#include "quant/planes.wgsl"

@group(0) @binding(B_W) var<storage, read> weights: array<vec4<u32>>;
@group(0) @binding(B_STEP) var<storage, read> step: array<u32>;
@group(0) @binding(B_X8) var<storage, read_write> x8: array<vec4<u32>>;
@group(0) @binding(B_Y) var<storage, read_write> y: array<f32>;
#include "matmul/activations.wgsl"
#include "matmul/epilogue.wgsl"

const TILE_M = 8u * TM;
const TILE_N = 64u;
var<workgroup> tile_x: array<vec4<u32>, STEP_UNITS * 2 * TILE_M>;  // [unit][half][slot]
var<workgroup> head_x: array<vec4<f32>, STEP_UNITS * TILE_M>;
var<workgroup> tile_w: array<vec4<u32>, STEP_UNITS * 2 * TILE_N>;
#if WEIGHT_SCALES == 1
var<workgroup> head_w: array<vec2<f32>, STEP_UNITS * TILE_N>;  // s, m
#else
var<workgroup> head_w: array<vec4<f32>, STEP_UNITS * TILE_N>;  // s of both halves, m of both
#endif

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let m_count = step[ROW_COUNT];
  let m_first = wid.y * TILE_M;
  let n_first = wid.x * TILE_N;
  let fill_n = min(n_first + (local & 7u) * 8u + (local >> 3u), ROWS - 1u);
  let fill_m = min(m_first + (local & 7u) * TM + (local >> 3u), m_count - 1u);
  let tm = local & 7u;
  let tn = local >> 3u;
#for i in 0..TM
#for j in 0..8
  var acc_##i##_##j = 0.0;
#endfor
#endfor

  for (var first = 0u; first < UNITS; first += STEP_UNITS) {
#for si in 0..STEP_UNITS
    {
      // The last step may hold fewer units; the others then add zero.
      let u = min(first + si, UNITS - 1u);
      let w = load_unit(load_group(fill_n / 4u, u), fill_n / 4u, fill_n % 4u, u);
      let live = select(0.0, 1.0, first + si < UNITS);
      tile_w[(si * 2u) * TILE_N + local] = w.lo;
      tile_w[(si * 2u + 1u) * TILE_N + local] = w.hi;
#if WEIGHT_SCALES == 1
      head_w[si * TILE_N + local] = vec2<f32>(w.s.x, w.m.x) * live;
#else
      head_w[si * TILE_N + local] = vec4<f32>(w.s, w.m) * live;
#endif
      if (local < TILE_M) {
        let b = load_bytes(fill_m, u);
        tile_x[(si * 2u) * TILE_M + local] = b.lo;
        tile_x[(si * 2u + 1u) * TILE_M + local] = b.hi;
        head_x[si * TILE_M + local] = b.h;
      }
    }
#endfor
    workgroupBarrier();
    for (var s = 0u; s < STEP_UNITS; s++) {
#for i in 0..TM
      let lo_##i = tile_x[(s * 2u) * TILE_M + i * 8u + tm];
      let hi_##i = tile_x[(s * 2u + 1u) * TILE_M + i * 8u + tm];
      let h_##i = head_x[s * TILE_M + i * 8u + tm];
#endfor
#for j in 0..8
      {
        let w_lo = tile_w[(s * 2u) * TILE_N + j * 8u + tn];
        let w_hi = tile_w[(s * 2u + 1u) * TILE_N + j * 8u + tn];
        let head = head_w[s * TILE_N + j * 8u + tn];
#for i in 0..TM
#if WEIGHT_SCALES == 1
        acc_##i##_##j += dot32(lo_##i, hi_##i, w_lo, w_hi) * (head.x * h_##i.x);
#if WEIGHT_MIN
        acc_##i##_##j += head.y * h_##i.w;
#endif
#else
        acc_##i##_##j += h_##i.x * (dot16(lo_##i, w_lo) * head.x + dot16(hi_##i, w_hi) * head.y);
#if WEIGHT_MIN
        acc_##i##_##j += head.z * h_##i.y + head.w * h_##i.z;
#endif
#endif
#endfor
      }
#endfor
    }
    workgroupBarrier();
  }

  let n = n_first + tn * 8u;
#for i in 0..TM
  {
    let m = m_first + tm * TM + i;
    if (m < m_count) {
#ifdef GATE
      let gate = vec4<f32>(acc_##i##_0, acc_##i##_1, acc_##i##_2, acc_##i##_3);
      let up = vec4<f32>(acc_##i##_4, acc_##i##_5, acc_##i##_6, acc_##i##_7);
#for c in 0..4
      if (n + c < ROWS) { finish_gated(m, n / 2u + c, gate[c], up[c]); }
#endfor
#else
#for j in 0..8
      if (n + j < ROWS) { finish(m, n + j, acc_##i##_##j); }
#endfor
#endif
    }
  }
#endfor
}
