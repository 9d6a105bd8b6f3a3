// Functions of one element (unary.h), in place on y: FUNCTION of each, PARAM_A to PARAM_D its parameters. One unit an invocation, rows
// along y of the grid.
#include "common/math.wgsl"
#include "common/softplus.wgsl"
#include "elementwise/unit.wgsl"

@group(0) @binding(B_Y) var<storage, read_write> y: array<UNIT>;

fn negate(v: f32) -> f32 {
  return -v;
}
fn step_above(v: f32) -> f32 {
  return select(0.0, 1.0, v > 0.0);
}
fn filled(v: f32) -> f32 {
  return PARAM_A;
}
fn bounded(v: f32) -> f32 {
  return min(max(v, PARAM_A), PARAM_B);
}
fn square(v: f32) -> f32 {
  return v * v;
}

// exp(v) - 1 = 2 t / (1 - t) with t = tanh(v / 2), which does not cancel near zero.
fn expm1(v: f32) -> f32 {
  let t = tanh_exact(0.5 * min(v, 1.0));
  return select(exp(v) - 1.0, 2.0 * t / (1.0 - t), v < 1.0);
}

// WGSL bounds the error of sin and cos only within a turn, and loosely. Here v is brought to within an eighth of a turn of a multiple
// of a quarter, in three parts whose products with that multiple are exact, then a series.
fn turned(v: f32, quarters: i32) -> f32 {
  let k = round(v * 0.63661977);
  let r = ((v - k * 1.5703125) - k * 4.8375129e-4) - k * 7.5497899e-8;
  let s = r * r;
  let sine = r * (1.0 + s * (-0.16666667 + s * (8.3333333e-3 + s * (-1.9841270e-4 + s * 2.7557319e-6))));
  let cosine = 1.0 + s * (-0.5 + s * (4.1666667e-2 + s * (-1.3888889e-3 + s * (2.4801587e-5 - s * 2.7557319e-7))));
  let quarter = i32(k) + quarters;
  let value = select(sine, cosine, (quarter & 1) == 1);
  return select(value, -value, (quarter & 2) == 2);
}
fn sine(v: f32) -> f32 {
  return turned(v, 0);
}
fn cosine(v: f32) -> f32 {
  return turned(v, 1);
}

// WGSL's round takes halves to the even neighbour.
fn rounded(v: f32) -> f32 {
  let whole = trunc(v);
  return select(whole, whole + sign(v), abs(v - whole) >= 0.5);
}

fn elu(v: f32) -> f32 {
  return select(expm1(v), v, v > 0.0);
}
fn xielu(v: f32) -> f32 {
  let negative = PARAM_B * (expm1(min(v, PARAM_D)) - v);
  return select(negative, PARAM_A * v * v, v > 0.0) + PARAM_C * v;
}
fn hard_sigmoid(v: f32) -> f32 {
  return min(max((v + 3.0) / 6.0, 0.0), 1.0);
}
fn hard_swish(v: f32) -> f32 {
  return v * hard_sigmoid(v);
}

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  if (id.x < UNITS) {
    let v = y[id.y * UNITS + id.x];
    y[id.y * UNITS + id.x] = EACH(FUNCTION, v);
  }
}
