// Many rows of x times W in tiles, exact: f32 operands in workgroup memory, f32 sums in registers.
// A workgroup of 8 x 8 invocations computes 8 * TM rows of x by 64 rows of W; an invocation TM x 8 of them, neighbours in both.
// K goes by one unit (32) at a time: each invocation decodes the unit of one weight row and copies that of one row of x.
// In workgroup memory vec4 k of tile row r lies at k * rows + slot(r), where slot puts rows that different invocations read in the same
// instruction side by side.
#include "common/step.wgsl"
#include "quant/planes.wgsl"

@group(0) @binding(B_W) var<storage, read> weights: array<vec4<u32>>;
@group(0) @binding(B_STEP) var<storage, read> step: array<u32>;
@group(0) @binding(B_Y) var<storage, read_write> y: array<f32>;
#include "matmul/activations.wgsl"
#include "matmul/tile_rows.wgsl"
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
  // Slot `local` of both tiles is filled by this invocation. Rows beyond the last repeat it and are not stored.
  let fill_n = W_ROW(min(n_first + (local & 7u) * 8u + (local >> 3u), ROWS - 1u));
  let fill_m = X_OF(min(m_first + (local & 7u) * TM + (local >> 3u), m_count - 1u));
  let tm = local & 7u;
  let tn = local >> 3u;
#for i in 0..TM
#for j in 0..8
  var acc_##i##_##j = 0.0;
#endfor
#endfor

  for (var u = 0u; u < UNITS; u++) {
    let w = decode_unit(fill_n, u);
#for k in 0..8
    tile_w[k * TILE_N + local] = w[k];
#endfor
    if (local < TILE_M) {
#for k in 0..8
      tile_x[k * TILE_M + local] = load_x(fill_m, u * 32u + 4u * k);
#endfor
    }
    workgroupBarrier();
    for (var k = 0u; k < 8u; k++) {
#for i in 0..TM
      let x_##i = tile_x[k * TILE_M + i * 8u + tm];
#endfor
#for j in 0..8
      {
        let w = tile_w[k * TILE_N + j * 8u + tn];
#for i in 0..TM
        acc_##i##_##j = fma(x_##i.w, w.w, fma(x_##i.z, w.z, fma(x_##i.y, w.y, fma(x_##i.x, w.x, acc_##i##_##j))));
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
