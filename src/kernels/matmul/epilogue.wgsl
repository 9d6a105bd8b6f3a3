// What happens to a product before it is stored: y[m, Y_COLUMN + i], rows of Y_STRIDE. First PRODUCT_SCALE * (product + bias), where
// they are given; then ADD, CAP (a softcap), ACTIVATION, GATE (the activation of a gated pair, without bias), or nothing. The functions
// return what y is then.
#include "common/math.wgsl"

#ifdef B_BIAS
@group(0) @binding(B_BIAS) var<storage, read> bias: array<f32>;
#endif
#ifdef PRODUCT_SCALE
#define SCALED(v) (PRODUCT_SCALE * (v))
#else
#define SCALED(v) (v)
#endif

#ifndef GATE
fn y_before(m: u32, i: u32) -> f32 { return y[m * Y_STRIDE + Y_COLUMN + i]; }

fn finish(m: u32, i: u32, product: f32) -> f32 {
#ifdef ADD
  return finish_onto(m, i, product, y_before(m, i));
#else
  return finish_onto(m, i, product, 0.0);
#endif
}

// `before` is what ADD adds to.
fn finish_onto(m: u32, i: u32, product: f32, before: f32) -> f32 {
  let at = m * Y_STRIDE + Y_COLUMN + i;
#ifdef B_BIAS
  let value = SCALED(product + bias[BIAS_FIRST + i]);
#elif defined(SUM_SLOTS) && defined(B_PART_BIAS)
  var value = product;
  for (var pair = m * SLOTS; pair < (m + 1u) * SLOTS; pair++) { value += share_of(pair) * part_bias[part_of(pair) * ROWS + i]; }
#else
  let value = SCALED(product);
#endif
#if defined(ADD)
  let result = before + value;
#elif defined(CAP)
  let result = CAP * tanh_exact(value / CAP);
#elif defined(ACTIVATION) && defined(SLOTS) && defined(B_ROUTES)
  let result = share_of(m) * ACTIVATION(value);  // as in finish_gated()
#elif defined(ACTIVATION)
  let result = ACTIVATION(value);
#else
  let result = value;
#endif
  y[at] = result;
  return result;
}
#else
#ifdef GATE_CLAMPED
fn gated(gate: f32, up: f32) -> f32 {
  let g = min(gate, 7.0);
  return g * sigmoid(1.702 * g) * (clamp(up, -7.0, 7.0) + 1.0);
}
#else
fn gated(gate: f32, up: f32) -> f32 { return GATE(gate) * up; }
#endif
#if defined(SLOTS) && defined(B_ROUTES)
// The pair's weight is taken along here, so that the next product only adds up.
fn finish_gated(m: u32, i: u32, gate: f32, up: f32) -> f32 {
#ifdef B_PART_BIAS
  let at = part_of(m) * ROWS + i / 4u * 8u + i % 4u;
  let result = share_of(m) * gated(gate + part_bias[at], up + part_bias[at + 4u]);
#else
  let result = share_of(m) * gated(gate, up);
#endif
#else
fn finish_gated(m: u32, i: u32, gate: f32, up: f32) -> f32 {
  let result = gated(SCALED(gate), SCALED(up));
#endif
#ifdef B_Y
  y[m * Y_STRIDE + Y_COLUMN + i] = result;
#endif
  return result;
}
#endif
