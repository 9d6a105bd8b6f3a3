// What happens to a product before it is stored: y[m, Y_COLUMN + i], rows of Y_STRIDE. EPILOGUE: STORE, ADD, SOFTCAP (with CAP), or
// GATE, the name of the activation of a gated pair.
#include "common/math.wgsl"

fn finish(m: u32, i: u32, value: f32) {
  let at = m * Y_STRIDE + Y_COLUMN + i;
#if defined(ADD)
  y[at] += value;
#elif defined(CAP)
  y[at] = CAP * tanh_exact(value / CAP);
#else
  y[at] = value;
#endif
}

#ifdef GATE
fn finish_gated(m: u32, i: u32, gate: f32, up: f32) { y[m * Y_STRIDE + Y_COLUMN + i] = GATE(gate) * up; }
#endif
