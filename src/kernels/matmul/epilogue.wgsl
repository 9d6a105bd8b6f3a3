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
fn finish_gated(m: u32, i: u32, gate: f32, up: f32) { y[m * Y_STRIDE + Y_COLUMN + i] = GATE(SCALED(gate)) * SCALED(up); }
#endif
