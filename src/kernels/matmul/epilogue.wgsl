// What happens to a product before it is stored: y[m, Y_COLUMN + i], rows of Y_STRIDE. First PRODUCT_SCALE * (product + bias), where
// they are given; then ADD, CAP (a softcap), ACTIVATION, GATE (the activation of a gated pair, without bias), or nothing.
#include "common/math.wgsl"

#ifdef B_BIAS
@group(0) @binding(B_BIAS) var<storage, read> bias: array<f32>;
#endif
#ifdef PRODUCT_SCALE
#define SCALED(v) (PRODUCT_SCALE * (v))
#else
#define SCALED(v) (v)
#endif

fn finish(m: u32, i: u32, product: f32) {
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
  y[at] += value;
#elif defined(CAP)
  y[at] = CAP * tanh_exact(value / CAP);
#elif defined(ACTIVATION)
  y[at] = ACTIVATION(value);
#else
  y[at] = value;
#endif
}

#ifdef GATE
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
fn finish_gated(m: u32, i: u32, gate: f32, up: f32) {
#ifdef B_PART_BIAS
  let at = part_of(m) * ROWS + i / 4u * 8u + i % 4u;
  y[m * Y_STRIDE + Y_COLUMN + i] = share_of(m) * gated(gate + part_bias[at], up + part_bias[at + 4u]);
#else
  y[m * Y_STRIDE + Y_COLUMN + i] = share_of(m) * gated(gate, up);
#endif
}
#else
fn finish_gated(m: u32, i: u32, gate: f32, up: f32) { y[m * Y_STRIDE + Y_COLUMN + i] = gated(SCALED(gate), SCALED(up)); }
#endif
#endif
