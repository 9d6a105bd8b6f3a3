// Many rows of x times W in tiles by matrix units (subgroup matrices): operands in workgroup memory (common/matrix_units.wgsl), sums in f32.
// SG_M x SG_N subgroups, each FRAGMENTS_M x FRAGMENTS_N products of MATRIX_M x MATRIX_N x MATRIX_K. K goes by STEP_UNITS units (32) at a
// time; SG_K such sets of subgroups take a part of them each, and their sums are joined at the end: more subgroups at work where
// there are few tiles. SPLITS workgroups may share K, too. What a step needs is requested AHEAD steps before: a turn of the loop is AHEAD
// steps, each with registers of its own for what is on its way. With SHORT_TEXT a compiler leaves these turns as they are.
// x comes as f16 from x_as_f16.wgsl; a weight is decoded as its type defines it, then rounded to what the units take.
// The text is Tint's; naga has another form of the same, which wgpu-native cannot enable.
#include "common/step.wgsl"
#include "quant/planes.wgsl"
#include "common/matrix_units.wgsl"

@group(0) @binding(B_W) var<storage, read> weights: array<vec4<u32>>;
@group(0) @binding(B_STEP) var<storage, read> step: array<u32>;
@group(0) @binding(B_X16) var<storage, read_write> x16: array<vec4<u32>>;
#if SPLITS == 1
@group(0) @binding(B_Y) var<storage, read_write> y: array<f32>;
#endif
#include "matmul/gemm_rows.wgsl"
#if SPLITS == 1
#include "matmul/epilogue.wgsl"
#else
// What each of the workgroups that share K leaves, for gemm_splits.wgsl: [split][X16_ROWS][ROWS].
@group(0) @binding(B_PARTIALS) var<storage, read_write> partials: array<f32>;
#endif

const LANES = u32(SUBGROUP_MAX);
const SUBGROUPS_OF_TILE = SG_M * SG_N;
const WG = SUBGROUPS_OF_TILE * SG_K * SUBGROUP_MAX;
const TILE_M = SG_M * FRAGMENTS_M * MATRIX_M;
const TILE_N = SG_N * FRAGMENTS_N * MATRIX_N;
// Of a step, in vec4 of eight halves each. Where it lies in a tile there is one more, so that rows begin in different banks.
const VECS = STEP_UNITS * 4u;
const STRIDE = VECS * VECS_OF_EIGHT + 1u;
const VECS_OF_MATRIX = MATRIX_K / 8u * VECS_OF_EIGHT;
const FRAGMENT = MATRIX_M * MATRIX_N;
// What a row of a tile leaves at a time. Gated weight rows lie in groups of four: gate, up, gate, up.
#ifdef GATE
const OUTPUTS = SG_N * AT_ONCE * MATRIX_N / 2u;
#define COLUMN_OF(output) ((output) / 4u * 8u + (output) % 4u)
#else
const OUTPUTS = SG_N * AT_ONCE * MATRIX_N;
#define COLUMN_OF(output) (output)
#endif
var<workgroup> tile_x: array<vec4<u32>, TILE_M * STRIDE>;
var<workgroup> tile_w: array<vec4<u32>, max(TILE_N * STRIDE, SUBGROUPS_OF_TILE * SG_K * AT_ONCE * FRAGMENT / 4)>;

// The step copies rows of vec4 (x, and f16 weights) in passes of the whole workgroup.
const ROWS_OF_PASS = WG / VECS;
const X_VECS = UNITS * 4u;

// Units beyond the last repeat it with an x of zero.
#if UNITS % STEP_UNITS == 0
#define VEC_OF(vec) (vec)
#define UNIT_OF(unit) (unit)
#define KEPT(first, v) v
const LAST_STEP = UNITS - STEP_UNITS;
#else
#define VEC_OF(vec) min(vec, X_VECS - 1u)
#define UNIT_OF(unit) min(unit, UNITS - 1u)
#define KEPT(first, v) select(vec4<u32>(), v, (first) * 4u + vec < X_VECS)
const LAST_STEP = UNITS;
#endif

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(local_invocation_index) local: u32) {
#ifdef SLOTS
  let tile_rows = tile_of(wid);
  if (tile_rows.first >= tile_rows.end || !in_chunk(tile_rows.part)) { return; }
  let m_count = tile_rows.end;
  let m_first = tile_rows.first;
  let first_row = (tile_rows.part - FIRST_PART) * ROWS;
  let n_first = wid.x * TILE_N;
#else
  let m_count = step[ROW_COUNT];
  // Neighbours take the rows of x by one piece of the weight, which is then read from memory once.
  let m_first = wid.x * TILE_M;
  let n_first = wid.y * TILE_N;
#endif
  let subgroup = local / LANES;
  let m_part = subgroup % SG_M * (FRAGMENTS_M * MATRIX_M);
  let n_part = subgroup / SG_M % SG_N * (FRAGMENTS_N * MATRIX_N);
  let k_part = subgroup / SUBGROUPS_OF_TILE * (VECS * VECS_OF_EIGHT / SG_K);
#if SPLITS > 1
  let begin = wid.z * (UNITS / SPLITS);
  let end = begin + UNITS / SPLITS;
#else
  const begin = 0u;
  const end = UNITS;
#endif
#for i in 0..FRAGMENTS_M
#for j in 0..FRAGMENTS_N
  var acc_##i##_##j = subgroup_matrix_result<f32, MATRIX_N, MATRIX_M>();
#endfor
#endfor

  // Rows beyond the last repeat it, or the last group of four, and are not stored.
#if STEP_UNITS == 1 && !MATRIX_F32 && SG_M * SG_N * SG_K * SUBGROUP_MAX % 32 == 0
  // Eight invocations store at a time, two rows of such a step. Neighbouring rows share banks, those four apart do not; rows of f32 are
  // longer, and there it is the other way round.
  let row = local / 32u * 8u + local / 8u % 4u + local / 4u % 2u * 4u;
#else
  let row = local / VECS;
#endif
  let vec = local % VECS;
#for p in 0..X_PASSES
  let x_row_##p = X_OF(min(m_first + row + p * ROWS_OF_PASS, m_count - 1u)) * X_VECS;
#for a in 0..AHEAD
  var x_##p##_##a = x16[x_row_##p + VEC_OF((begin + a * STEP_UNITS) * 4u + vec)];
#endfor
#endfor
#if WEIGHT_FLOAT
#for p in 0..W_PASSES
  let w_row_##p = PLANE_ROWS + W_ROW(min(n_first + row + p * ROWS_OF_PASS, ROWS - 1u)) * X_VECS;
#for a in 0..AHEAD
  var w_##p##_##a = weights[w_row_##p + VEC_OF((begin + a * STEP_UNITS) * 4u + vec)];
#endfor
#endfor
#else
  // Four rows of a unit lie together; and so neighbours store to different banks.
  let unit = local / 4u % STEP_UNITS;
  let unit_row = local / (4u * STEP_UNITS) * 4u + local % 4u;
#for p in 0..W_PASSES
#ifdef SLOTS
  let w_at_##p = W_ROW(min(n_first + unit_row + p * (WG / STEP_UNITS), ROWS - 1u));
  let w_group_##p = w_at_##p / 4u;
  let w_row_##p = w_at_##p % 4u;
#else
  let w_group_##p = min((n_first + unit_row + p * (WG / STEP_UNITS)) / 4u, (ROWS - 1u) / 4u);
  let w_row_##p = (unit_row + p * (WG / STEP_UNITS)) % 4u;
#endif
#for a in 0..AHEAD
  var group_##p##_##a = load_group(w_group_##p, w_row_##p, UNIT_OF(begin + a * STEP_UNITS + unit));
  var w_##p##_##a = load_raw(w_group_##p, w_row_##p, UNIT_OF(begin + a * STEP_UNITS + unit));
#endfor
#endfor
#endif

#if SHORT_TEXT
#define END_OF(turn) (end + STAYS_A_LOOP(turn / (AHEAD * STEP_UNITS)))
#else
#define END_OF(turn) end
#endif
  for (var turn = begin; turn < END_OF(turn); turn += AHEAD * STEP_UNITS) {
#for a in 0..AHEAD
    {
      let first = turn + a * STEP_UNITS;
#for p in 0..X_PASSES
      STORE_HALVES(tile_x, (row + p * ROWS_OF_PASS) * STRIDE + vec * VECS_OF_EIGHT, KEPT(first, x_##p##_##a));
#endfor
#for p in 0..W_PASSES
#if WEIGHT_FLOAT
      STORE_HALVES(tile_w, (row + p * ROWS_OF_PASS) * STRIDE + vec * VECS_OF_EIGHT, w_##p##_##a);
#else
      {
        let q = unpack(w_##p##_##a, group_##p##_##a, w_row_##p, UNIT_OF(first + unit));
        let at = (unit_row + p * (WG / STEP_UNITS)) * STRIDE + unit * 4u * VECS_OF_EIGHT;
#for c in 0..2
        STORE_EIGHT(tile_w, at + c * VECS_OF_EIGHT, q.s.x * bytes_f32(q.lo[2 * c]) + q.m.x, q.s.x * bytes_f32(q.lo[2 * c + 1]) + q.m.x);
        STORE_EIGHT(tile_w, at + (2 + c) * VECS_OF_EIGHT, q.s.y * bytes_f32(q.hi[2 * c]) + q.m.y, q.s.y * bytes_f32(q.hi[2 * c + 1]) + q.m.y);
#endfor
      }
#endif
#endfor
      workgroupBarrier();
      let next = min(first + AHEAD * STEP_UNITS, LAST_STEP);
#for p in 0..X_PASSES
      x_##p##_##a = x16[x_row_##p + VEC_OF(next * 4u + vec)];
#endfor
#for p in 0..W_PASSES
#if WEIGHT_FLOAT
      w_##p##_##a = weights[w_row_##p + VEC_OF(next * 4u + vec)];
#else
      group_##p##_##a = load_group(w_group_##p, w_row_##p, UNIT_OF(next + unit));
      w_##p##_##a = load_raw(w_group_##p, w_row_##p, UNIT_OF(next + unit));
#endif
#endfor
#for k in 0..STEP_UNITS * 32 / MATRIX_K / SG_K
      {
        let at = k_part + k * VECS_OF_MATRIX;
#for i in 0..FRAGMENTS_M
        let left_##i = subgroupMatrixLoad<subgroup_matrix_left<Operand, MATRIX_K, MATRIX_M>, row_major>(
            &tile_x, (m_part + i * MATRIX_M) * STRIDE + at, STRIDE);
#endfor
#for j in 0..FRAGMENTS_N
        let right_##j = subgroupMatrixLoad<subgroup_matrix_right<Operand, MATRIX_N, MATRIX_K>, col_major>(
            &tile_w, (n_part + j * MATRIX_N) * STRIDE + at, STRIDE);
#for i in 0..FRAGMENTS_M
        acc_##i##_##j = subgroupMatrixMultiplyAccumulate(left_##i, right_##j, acc_##i##_##j);
#endfor
#endfor
      }
#endfor
      workgroupBarrier();
    }
#endfor
  }

  // AT_ONCE products of each subgroup at a time, where the tile of weights was: a workgroup that needs less memory has more beside it on a
  // core. One short loop stores them, since a long text is fetched anew whenever kernels come in turn.
#for i in 0..FRAGMENTS_M
#for j in 0..FRAGMENTS_N
  subgroupMatrixStore<row_major>(&tile_w, (subgroup * AT_ONCE + j % AT_ONCE) * FRAGMENT / 4u, acc_##i##_##j, MATRIX_N / 4u);
#if (j + 1) % AT_ONCE == 0
  workgroupBarrier();
  for (var e = local; e < SG_M * MATRIX_M * OUTPUTS; e += WG) {
    let tile_row = e / OUTPUTS;
    let column = COLUMN_OF(e % OUTPUTS);
    let m = m_first + tile_row / MATRIX_M * (FRAGMENTS_M * MATRIX_M) + i * MATRIX_M + tile_row % MATRIX_M;
    let n_of_subgroup = column / (AT_ONCE * MATRIX_N) * (FRAGMENTS_N * MATRIX_N) + column % (AT_ONCE * MATRIX_N);
    let n = n_first + (j + 1 - AT_ONCE) * MATRIX_N + n_of_subgroup;
    let product = (column / (AT_ONCE * MATRIX_N) * SG_M + tile_row / MATRIX_M) * AT_ONCE + column / MATRIX_N % AT_ONCE;
    let at = product * FRAGMENT + tile_row % MATRIX_M * MATRIX_N + column % MATRIX_N;
#if SPLITS > 1
    if (m < m_count && n < ROWS) { partials[(wid.z * X16_ROWS + m) * ROWS + n] = sum_at(at); }
#else
    if (m < m_count && n < ROWS) {
      let scale = bitcast<f32>((127u + x16[X16_ROWS * X_VECS + X_OF(m)].x) << 23u);
#ifdef GATE
      finish_gated(Y_OF(m), n / 8u * 4u + n % 4u, sum_at(at) * scale, sum_at(at + 4u) * scale);
#else
      finish(Y_OF(m), n, sum_at(at) * scale);
#endif
    }
#endif
  }
  workgroupBarrier();
#endif
#endfor
#endfor
}

// A product's part of every set along K.
fn sum_at(e: u32) -> f32 {
  var sum = 0.0;
  for (var k = 0u; k < SG_K; k++) {
    let at = k * (SUBGROUPS_OF_TILE * AT_ONCE * FRAGMENT) + e;
    sum += bitcast<f32>(tile_w[at / 4u][at % 4u]);
  }
  return sum;
}
