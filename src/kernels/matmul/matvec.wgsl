// Few rows of x (COLUMNS of them in a workgroup) times W: every weight is read once and used for all of them.
// A team of LANES invocations takes TEAM_GROUPS groups of four weight rows and walks over K together, a unit of 32 weights (or, for
// float weights, one 16-byte vector) each; sums then go across the team. With B_X: products in f32. Otherwise in int8, with x as bytes
// from scratch (B_X8) or made of B_X by the workgroup itself (X_PROLOGUE), which may also make x from what an RMS norm reads: x * gamma as
// bytes, and the inverse of the root mean square on the sums, where it commutes with all else (B_GAMMA, EPS). With X_SQUARES a product
// before has done all but that last (matvec_handover.wgsl), and with B_NEXT this one does it for those after.
// Formula of a unit of row r: y[r] += s * sum(q * x) + m * sum(x), s and m once or for each half of the unit (quant/planes.wgsl).
#include "common/step.wgsl"
#define ROWS_TOGETHER 1
#include "quant/planes.wgsl"

@group(0) @binding(B_W) var<storage, read> weights: array<vec4<u32>>;
@group(0) @binding(B_STEP) var<storage, read> step: array<u32>;
#ifdef B_Y
@group(0) @binding(B_Y) var<storage, read_write> y: array<f32>;
#endif
#ifdef B_NEXT
#if HANDS_BYTES
@group(0) @binding(B_NEXT) var<storage, read_write> next: array<vec4<u32>>;
#else
@group(0) @binding(B_NEXT) var<storage, read_write> next: array<f32>;
#endif
#ifdef B_NEXT_GAMMA
@group(0) @binding(B_NEXT_GAMMA) var<storage, read> next_gamma: array<vec4<f32>>;
#endif
#endif
#ifdef B_GAMMA
@group(0) @binding(B_GAMMA) var<storage, read> gamma: array<vec4<f32>>;
#endif
#include "matmul/activations.wgsl"
#ifdef SLOTS
#include "matmul/matmul_parts.wgsl"
#endif
#ifdef SUM_SLOTS
// K goes through all slots of a row: unit u is unit u % UNITS of slot u / UNITS.
#define X_UNITS (UNITS * SLOTS)
#define GROUP_AT(g, u) (g + slot_groups[(u) / UNITS])
#define UNIT_AT(u) ((u) % UNITS)
#define X_ROW_AT(m, u) (m + (u) / UNITS)
const OUTSIDE = 0xffffffffu;
var<workgroup> slot_groups: array<u32, SLOTS>;  // first group of each slot's part, OUTSIDE where the chunk has it not
#else
#define X_UNITS UNITS
#define GROUP_AT(g, u) g
#define UNIT_AT(u) u
#define X_ROW_AT(m, u) m
#endif
#ifdef X_PROLOGUE
#define X_UNIT_AT(u) u
#else
#define X_UNIT_AT(u) UNIT_AT(u)
#endif
#include "matmul/epilogue.wgsl"
#if SUBGROUPS && SUBGROUP_MIN >= 8
#define EIGHTHS 1
#include "matmul/quantize_unit.wgsl"
#else
#define EIGHTHS 0
#endif

// Rows of x. Where a batch class has one, no workgroup runs without it, and the first weights need not wait until the step has been read.
#ifdef ONE_ROW
#define N_ROWS 1u
#else
#define N_ROWS step[ROW_COUNT]
#endif

const TEAMS = WG / LANES;
const WG_GROUPS = TEAMS * TEAM_GROUPS;
const N_GROUPS = (ROWS + 3u) / 4u;
#ifdef GATE
const OUTPUTS = WG_GROUPS * 2u;  // of a workgroup and column of x
const N_OUTPUTS = ROWS / 2u;
#else
const OUTPUTS = WG_GROUPS * 4u;
const N_OUTPUTS = u32(ROWS);
#endif
// Every invocation finishes one output at most.
#if defined(ADD) && COLUMNS == 1 && LANES >= 4 * TEAM_GROUPS
#define EARLY_Y 1
#else
#define EARLY_Y 0
#endif
#ifdef B_NEXT
#define RESULT(i) finished[i] =
const FOURS = OUTPUTS * COLUMNS / 4u;
var<workgroup> finished: array<f32, FOURS * 4u>;  // [column][output]
fn finished_four(four: u32) -> vec4<f32> {
  let i = four * 4u;
  return vec4<f32>(finished[i], finished[i + 1u], finished[i + 2u], finished[i + 3u]);
}
#else
#define RESULT(i)
#endif

#if SUBGROUPS && SUBGROUP_MIN > 0 && LANES >= SUBGROUP_MAX
#define TEAM_OF_SUBGROUPS 1
// [subgroup][group of the team][column][row]
var<workgroup> partial: array<f32, WG / SUBGROUP_MIN * TEAM_GROUPS * COLUMNS * 4u>;
#if SUBGROUP_MIN == SUBGROUP_MAX && SUBGROUP_MIN >= 4 * COLUMNS
#define DEALT 1
#include "matmul/matvec_sums.wgsl"
#else
#define DEALT 0
#endif
#else
#define TEAM_OF_SUBGROUPS 0
var<workgroup> partial: array<vec4<f32>, WG * TEAM_GROUPS * COLUMNS>;
#endif

#if defined(B_GAMMA) || defined(X_SQUARES)
#define NORMED 1
var<workgroup> own_squares: array<f32, WG / SUBGROUP_MIN>;  // of each subgroup: subgroup s has a part of row s % COLUMNS
#else
#define NORMED 0
#endif
#ifdef X_PROLOGUE
// One row of x as bytes, in each of its planes; the header is kept as scale and two sums of 16 bits to save room.
var<workgroup> own_bytes: array<vec4<u32>, X_UNITS * 2u * X_PLANES>;
var<workgroup> own_scales: array<vec2<u32>, X_UNITS * X_PLANES>;

fn load_bytes(plane: u32, u: u32) -> Bytes {
  let h = own_scales[plane * X_UNITS + u];
  let sums = bitcast<vec2<i32>>(vec2<u32>(h.y << 16u, h.y)) >> vec2<u32>(16u);
  let at = plane * 2u * X_UNITS + u;
  return Bytes(own_bytes[at], own_bytes[at + X_UNITS], bytes_header(bitcast<f32>(h.x), sums));
}
fn own_scale(scale: f32, low: i32, high: i32) -> vec2<u32> {
  return vec2<u32>(bitcast<u32>(scale), bitcast<u32>((low & 0xffff) | (high << 16u)));
}
#define X8_ROW(m, u, plane) plane
#else
#define X8_ROW(m, u, plane) (X_ROW_AT(m, u) * X_PLANES + plane)
#endif

#if TEAM_OF_SUBGROUPS || NORMED
#define LANE_BUILTINS , @builtin(subgroup_size) lane_count: u32, @builtin(subgroup_invocation_id) lane: u32
#else
#define LANE_BUILTINS
#endif

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(local_invocation_index) local: u32 LANE_BUILTINS) {
#if defined(SLOTS) && !defined(SUM_SLOTS)
  let m_count = N_ROWS * SLOTS;
  let part = part_of(wid.z);
#if CHUNKED
  if (!in_chunk(part)) { return; }
#endif
#else
  let m_count = N_ROWS;
#endif
  let m_first = wid.z * COLUMNS;
  let wg_first = (wid.y * GRID_X + wid.x) * WG_GROUPS;
  let team = local / LANES;
  let team_lane = local % LANES;
  let team_first = wg_first + team * TEAM_GROUPS;

#for c in 0..COLUMNS
  // Rows beyond the last compute what is not stored.
#ifdef SUM_SLOTS
  let m_##c = min(m_first + c, m_count - 1u) * SLOTS;
#elif defined(SLOTS)
  let m_##c = x_row(min(m_first + c, m_count - 1u));
#else
  let m_##c = min(m_first + c, m_count - 1u);
#endif
#endfor
#for gi in 0..TEAM_GROUPS
#if defined(SLOTS) && !defined(SUM_SLOTS)
  let g_##gi = min(team_first + gi, N_GROUPS - 1u) + (part - FIRST_PART) * N_GROUPS;
#else
  let g_##gi = min(team_first + gi, N_GROUPS - 1u);
#endif
#for c in 0..COLUMNS
  var acc_##gi##_##c = vec4<f32>();
#endfor
#endfor

  // What the end needs is on its way from the start.
  let first_output = wg_first * (OUTPUTS / WG_GROUPS);
#if EARLY_Y
  let own_y = y_before(min(m_first, m_count - 1u), min(first_output + local, N_OUTPUTS - 1u));
#endif
#ifdef B_NEXT
  let own_four = min(local, FOURS - 1u);
#ifdef B_NEXT_GAMMA
  let own_gamma = next_gamma[(Y_COLUMN + min(first_output + own_four % (OUTPUTS / 4u) * 4u, N_OUTPUTS - 4u)) / 4u];
#endif
#endif
#ifdef SUM_SLOTS
  for (var s = local; s < SLOTS; s += WG) {
    let part = part_of(m_0 + s);
    slot_groups[s] = select(OUTSIDE, (part - FIRST_PART) * N_GROUPS, in_chunk(part));
  }
  workgroupBarrier();
#endif
#if PREFETCH && WEIGHT_FLOAT
#define LAST_VEC (UNITS * 32u / WEIGHT_VEC - 1u)
#for gi in 0..TEAM_GROUPS
#for r in 0..4
  var next_##gi##_##r = load_vec(g_##gi * 4u + r, min(team_lane, LAST_VEC));
#endfor
#endfor
#elif PREFETCH
#for gi in 0..TEAM_GROUPS
  var next_group_##gi = load_group(GROUP_AT(g_##gi, min(team_lane, X_UNITS - 1u)), 0u, UNIT_AT(min(team_lane, X_UNITS - 1u)));
#for r in 0..4
  var next_##gi##_##r = load_raw(GROUP_AT(g_##gi, min(team_lane, X_UNITS - 1u)), r, UNIT_AT(min(team_lane, X_UNITS - 1u)));
#endfor
#endfor
#endif
#ifdef X_PROLOGUE
#include "matmul/matvec_quantize.wgsl"
  workgroupBarrier();
#endif

#ifdef X_SQUARES
  // Summed while the weights are on their way.
  var squares = 0.0;
#ifdef B_X8
  let squares_parts = WG / lane_count / COLUMNS;  // subgroups that share a row
  let squares_row = min(m_first + local / lane_count % COLUMNS, m_count - 1u);
  for (var u = local / lane_count / COLUMNS * lane_count + lane; u < UNITS; u += squares_parts * lane_count) {
    squares += bitcast<f32>(x8[x8_header(squares_row, u)].w);
  }
#else
  for (var i = local; i < TURNS(COLS / 16u); i += WG) { squares += dot(x[COLS / 4u + i], vec4<f32>(1.0)); }
#endif
  let subgroup_squares = subgroupAdd(squares);
  if (lane == 0u) { own_squares[local / lane_count] = subgroup_squares; }
#endif
#if WEIGHT_FLOAT
#include "matmul/matvec_float.wgsl"
#elif defined(B_X) && !defined(X_PROLOGUE)
#include "matmul/matvec_exact.wgsl"
#else
#include "matmul/matvec_int8.wgsl"
#endif

#if TEAM_OF_SUBGROUPS
  let subgroup = local / lane_count;
#for gi in 0..TEAM_GROUPS
#if DEALT
  {
    var sums: array<vec4<f32>, COLUMNS>;
#for c in 0..COLUMNS
    sums[c] = acc_##gi##_##c;
#endfor
    let sum = dealt_sum(sums, lane);
    if (lane % DEALT_LANES == 0u) { partial[(subgroup * TEAM_GROUPS + gi) * COLUMNS * 4u + lane / DEALT_LANES] = sum; }
  }
#else
#for c in 0..COLUMNS
  let sum_##gi##_##c = subgroupAdd(acc_##gi##_##c);
  if (lane == 0u) {
#for r in 0..4
    partial[((subgroup * TEAM_GROUPS + gi) * COLUMNS + c) * 4u + r] = sum_##gi##_##c[r];
#endfor
  }
#endfor
#endif
#endfor
  workgroupBarrier();
  let parts = LANES / lane_count;  // subgroups of a team
#else
  // A tree over the lanes of each team.
#for gi in 0..TEAM_GROUPS
#for c in 0..COLUMNS
  partial[(local * TEAM_GROUPS + gi) * COLUMNS + c] = acc_##gi##_##c;
#endfor
#endfor
  for (var step_lanes = LANES / 2u; step_lanes > 0u; step_lanes = step_lanes / 2u) {
    workgroupBarrier();
    if (team_lane < step_lanes) {
      for (var i = 0u; i < TURNS(TEAM_GROUPS * COLUMNS); i++) {
        partial[local * TEAM_GROUPS * COLUMNS + i] += partial[(local + step_lanes) * TEAM_GROUPS * COLUMNS + i];
      }
    }
  }
  workgroupBarrier();
  let parts = u32(LANES);  // the first of them holds the sum
#endif

#if NORMED && COLUMNS == 1
  let inverse_rms = inverse_rms_of(0u, lane_count);
#elif NORMED == 0
  const inverse_rms = 1.0;
#endif
  for (var i = local; i < TURNS(OUTPUTS * COLUMNS); i += WG) {
    let c = i / OUTPUTS;
    let o = i % OUTPUTS;
    if (m_first + c >= m_count) { continue; }
#if NORMED && COLUMNS > 1
    let inverse_rms = inverse_rms_of(c, lane_count);
#endif
#ifdef GATE
    let group = o / 4u * 2u;
    if (first_output + o < N_OUTPUTS) {
      RESULT(i) finish_gated(m_first + c, first_output + o, team_sum(group, c, o % 4u, parts) * inverse_rms,
                             team_sum(group + 1u, c, o % 4u, parts) * inverse_rms);
    }
#else
    let sum = team_sum(o / 4u, c, o % 4u, parts) * inverse_rms;
#if EARLY_Y
    if (first_output + o < N_OUTPUTS) { RESULT(i) finish_onto(m_first, first_output + o, sum, own_y); }
#else
    if (first_output + o < N_OUTPUTS) { RESULT(i) finish(m_first + c, first_output + o, sum); }
#endif
#endif
  }
#ifdef B_NEXT
  workgroupBarrier();
#include "matmul/matvec_handover.wgsl"
#endif
}

#if NORMED
fn inverse_rms_of(c: u32, lane_count: u32) -> f32 {
  var squares = 0.0;
  for (var i = c; i < WG / lane_count; i += COLUMNS) { squares += own_squares[i]; }
  return inverseSqrt(squares / f32(COLS) + EPS);
}
#endif

// The sum of a row of a group of the workgroup.
fn team_sum(group: u32, c: u32, row: u32, parts: u32) -> f32 {
  let first = group / TEAM_GROUPS * parts;
#if TEAM_OF_SUBGROUPS
  var sum = 0.0;
  for (var p = 0u; p < parts; p++) { sum += partial[(((first + p) * TEAM_GROUPS + group % TEAM_GROUPS) * COLUMNS + c) * 4u + row]; }
  return sum;
#else
  return partial[(first * TEAM_GROUPS + group % TEAM_GROUPS) * COLUMNS + c][row];
#endif
}
