// Many rows of x times W in tiles, exact: f32 operands in workgroup memory, f32 sums in registers.
// A workgroup of 8 x 8 invocations computes 8 * TM rows of x by 64 rows of W; an invocation TM x 8 of them, neighbours in both.
// K goes by one unit (32) at a time. What a step fills in was requested before the products of the step before it, and waits in registers;
// neighbours request what lies side by side in memory.
// In workgroup memory vec4 k of tile row r lies at k * rows + (slot(r) ^ k), where slot puts rows that different invocations read in the
// same instruction side by side, and the xor what they store in the same instruction into different banks.
#include "common/step.wgsl"
#include "quant/planes.wgsl"

@group(0) @binding(B_W) var<storage, read> weights: array<vec4<u32>>;
@group(0) @binding(B_STEP) var<storage, read> step: array<u32>;
@group(0) @binding(B_Y) var<storage, read_write> y: array<f32>;
#include "matmul/activations.wgsl"
#include "matmul/gemm_rows.wgsl"
#include "matmul/epilogue.wgsl"

const TILE_M = 8u * TM;
const TILE_N = 64u;
var<workgroup> tile_x: array<vec4<f32>, 8 * TILE_M>;
var<workgroup> tile_w: array<vec4<f32>, 8 * TILE_N>;

@compute @workgroup_size(64)
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
  let tm = local & 7u;
  let tn = local >> 3u;
#for i in 0..TM
#for j in 0..8
  var acc_##i##_##j = 0.0;
#endfor
#endfor

  // What this invocation fills in, for the first step: of x vec4 x_k of TM rows. Rows beyond the last repeat it and are not stored.
  let x_k = local & 7u;
#for e in 0..TM
  let m_##e = X_OF(min(m_first + e * 8u + tn, m_count - 1u));
  let x_at_##e = x_k * TILE_M + (((e * 8u + tn) / TM + (e * 8u + tn) % TM * 8u) ^ x_k);
  var next_x_##e = load_x(m_##e, 4u * x_k);
#endfor
#if WEIGHT_FLOAT
#define VECS (32u / WEIGHT_VEC)
  let w_vec = local % VECS;
#for e in 0..32 / WEIGHT_VEC
  let w_row_##e = (e * 64u + local) / VECS;
  let n_##e = W_ROW(min(n_first + w_row_##e, ROWS - 1u));
  var next_w_##e = load_vec(n_##e, w_vec);
#endfor
#else
  let fill_n = W_ROW(min(n_first + tm * 8u + tn, ROWS - 1u));
  var next_w = ask(fill_n, 0u);
#endif

  for (var u = 0u; u < UNITS; u++) {
#if WEIGHT_FLOAT
#for e in 0..32 / WEIGHT_VEC
    {
      let w = widen(next_w_##e);
#for c in 0..WEIGHT_VEC / 4
      let k_##c = w_vec * (WEIGHT_VEC / 4u) + c;
      tile_w[k_##c * TILE_N + ((w_row_##e % 8u * 8u + w_row_##e / 8u) ^ k_##c)] = w[c];
#endfor
    }
#endfor
#else
    let w = weights_of(arrived(next_w, fill_n, u));
#for k in 0..8
    tile_w[k * TILE_N + (local ^ k)] = w[k];
#endfor
#endif
#for e in 0..TM
    tile_x[x_at_##e] = next_x_##e;
#endfor
    workgroupBarrier();
    let next = min(u + 1u, UNITS - 1u);
#for e in 0..TM
    next_x_##e = load_x(m_##e, next * 32u + 4u * x_k);
#endfor
#if WEIGHT_FLOAT
#for e in 0..32 / WEIGHT_VEC
    next_w_##e = load_vec(n_##e, next * VECS + w_vec);
#endfor
#else
    next_w = ask(fill_n, next);
#endif
#for k in 0..8
    {
#for i in 0..TM
      let x_##i = tile_x[k * TILE_M + ((i * 8u + tm) ^ k)];
#endfor
#for j in 0..8
      {
        let w = tile_w[k * TILE_N + ((j * 8u + tn) ^ k)];
#for i in 0..TM
        acc_##i##_##j = fma(x_##i.w, w.w, fma(x_##i.z, w.z, fma(x_##i.y, w.y, fma(x_##i.x, w.x, acc_##i##_##j))));
#endfor
      }
#endfor
    }
#endfor
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
