// Many rows of x times W in tiles by matrix units (subgroup matrices): f16 operands in workgroup memory, sums in f32.
// SG_M x SG_N subgroups, each FRAGMENTS_M x FRAGMENTS_N products of MATRIX_M x MATRIX_N x MATRIX_K; K goes by one unit (32) at a time.
// x comes as f16 from halve.wgsl; a weight is decoded as its type defines it, then rounded to f16.
// The text is Tint's; naga has another form of the same, which wgpu-native cannot enable.
#include "common/step.wgsl"
#include "quant/planes.wgsl"

@group(0) @binding(B_W) var<storage, read> weights: array<vec4<u32>>;
@group(0) @binding(B_STEP) var<storage, read> step: array<u32>;
@group(0) @binding(B_X16) var<storage, read_write> x16: array<vec4<f16>>;
@group(0) @binding(B_Y) var<storage, read_write> y: array<f32>;
#include "matmul/tile_rows.wgsl"
#include "matmul/epilogue.wgsl"

const LANES = u32(SUBGROUP_MAX);
const SUBGROUPS_OF_TILE = SG_M * SG_N;
const WG = SUBGROUPS_OF_TILE * SUBGROUP_MAX;
const TILE_M = SG_M * FRAGMENTS_M * MATRIX_M;
const TILE_N = SG_N * FRAGMENTS_N * MATRIX_N;
// Of a tile row: eight more than a unit has, so that rows begin in different banks.
const STRIDE = 40u;
const FRAGMENT = MATRIX_M * MATRIX_N;
var<workgroup> tile_x: array<f16, TILE_M * STRIDE>;
var<workgroup> tile_w: array<f16, TILE_N * STRIDE>;
var<workgroup> sums: array<f32, SUBGROUPS_OF_TILE * FRAGMENT>;  // one product of each subgroup

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
  let subgroup = local / LANES;
  let lane = local % LANES;
  let m_part = subgroup % SG_M * (FRAGMENTS_M * MATRIX_M);
  let n_part = subgroup / SG_M * (FRAGMENTS_N * MATRIX_N);
#for i in 0..FRAGMENTS_M
#for j in 0..FRAGMENTS_N
  var acc_##i##_##j = subgroup_matrix_result<f32, MATRIX_N, MATRIX_M>();
#endfor
#endfor

  // Rows beyond the last repeat it and are not stored.
  for (var u = 0u; u < UNITS; u++) {
    for (var slot = local; slot < TILE_N; slot += WG) {
      let w = decode_unit(W_ROW(min(n_first + slot, ROWS - 1u)), u);
#for c in 0..8
#for e in 0..4
      tile_w[slot * STRIDE + c * 4u + e] = f16(w[c][e]);
#endfor
#endfor
    }
    for (var item = local; item < TILE_M * 8u; item += WG) {
      let slot = item / 8u;
      let v = x16[(X_OF(min(m_first + slot, m_count - 1u)) * UNITS + u) * 8u + item % 8u];
#for e in 0..4
      tile_x[slot * STRIDE + item % 8u * 4u + e] = v[e];
#endfor
    }
    workgroupBarrier();
#for k in 0..32 / MATRIX_K
    {
#for i in 0..FRAGMENTS_M
      let x_##i = subgroupMatrixLoad<subgroup_matrix_left<f16, MATRIX_K, MATRIX_M>>(
          &tile_x, (m_part + i * MATRIX_M) * STRIDE + k * MATRIX_K, false, STRIDE);
#endfor
#for j in 0..FRAGMENTS_N
      let w_##j = subgroupMatrixLoad<subgroup_matrix_right<f16, MATRIX_N, MATRIX_K>>(
          &tile_w, (n_part + j * MATRIX_N) * STRIDE + k * MATRIX_K, true, STRIDE);
#for i in 0..FRAGMENTS_M
      acc_##i##_##j = subgroupMatrixMultiplyAccumulate(x_##i, w_##j, acc_##i##_##j);
#endfor
#endfor
    }
#endfor
    workgroupBarrier();
  }

#for i in 0..FRAGMENTS_M
#for j in 0..FRAGMENTS_N
  subgroupMatrixStore(&sums, subgroup * FRAGMENT, acc_##i##_##j, false, MATRIX_N);
  workgroupBarrier();
  for (var e = lane; e < FRAGMENT; e += LANES) {
    let m = m_first + m_part + i * MATRIX_M + e / MATRIX_N;
    let column = e % MATRIX_N;
    let n = n_first + n_part + j * MATRIX_N + column;
    if (m < m_count && n < ROWS) {
      let scale = bitcast<f32>((127u + u32(x16[X16_ROWS * UNITS * 8u + X_OF(m)].x)) << 23u);
      let sum = sums[subgroup * FRAGMENT + e] * scale;
#ifdef GATE
      // Groups of four: gate, up, gate, up.
      if (column % 8u < 4u) { finish_gated(Y_OF(m), n / 8u * 4u + n % 4u, sum, sums[subgroup * FRAGMENT + e + 4u] * scale); }
#else
      finish(Y_OF(m), n, sum);
#endif
    }
  }
  workgroupBarrier();
#endfor
#endfor
}
