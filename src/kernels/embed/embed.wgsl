// x[t, :] = SCALE * W[TABLE_ROW, :] (or added to x) for the rows in this chunk of W; an invocation decodes one unit of 32 columns of one row.
#include "common/step.wgsl"
#include "quant/planes.wgsl"

@group(0) @binding(B_W) var<storage, read> weights: array<vec4<u32>>;
@group(0) @binding(B_STEP) var<storage, read> step: array<u32>;
@group(0) @binding(B_X) var<storage, read_write> x: array<f32>;
#ifdef MEDIA_ROWS
@group(0) @binding(B_MEDIA) var<storage, read> media: array<f32>;
#endif

fn put(at: u32, value: f32) {
#if ADD
  x[at] += value;
#else
  x[at] = value;
#endif
}

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  let u = id.x;
  let t = id.y;
  if (u >= UNITS || t >= step[STEP_TOKEN_COUNT]) { return; }
#ifdef MEDIA_ROWS
  // Ids below zero are those from the sign bit on.
  let token = step[STEP_TOKENS + t];
  if (token >= 0x80000000u) {
    for (var c = u * 32u; c < min(COLS, u * 32u + 32u); c++) { x[t * COLS + c] = media[~token * MEDIA_COLUMNS + c]; }
    return;
  }
#endif
  // A row before the chunk wraps to a row beyond its end.
  let row = TABLE_ROW - FIRST_ROW;
  if (row >= ROWS) { return; }
  let w = decode_unit(row, u);
  let at = t * COLS + u * 32u;
#for k in 0..8
#for c in 0..4
#if COLS % 32 == 0
  put(at + 4 * k + c, SCALE * w[k][c]);
#else
  if (u * 32u + 4 * k + c < COLS) { put(at + 4 * k + c, SCALE * w[k][c]); }
#endif
#endfor
#endfor
}
