// Functions that WGSL leaves imprecise or whose overflow it leaves open, written out. All are right to about 1e-7.

// 1 / (1 + exp(-z)); the bound keeps exp finite, and a product with the largest number is 0 below it.
fn sigmoid(z: f32) -> f32 {
  return select(1.0 / (1.0 + exp(min(-z, 80.0))), 0.0, z < -80.0);
}

// Series near zero, where 1 - exp(-2|z|) would cancel.
fn tanh_exact(z: f32) -> f32 {
  let a = min(abs(z), 20.0);
  let t = exp(-2.0 * a);
  let far = (1.0 - t) / (1.0 + t);
  let s = a * a;
  let near = a * (1.0 + s * (-0.33333333 + s * (0.13333333 + s * (-0.053968254 + s * 0.021869488))));
  let magnitude = select(far, near, a < 0.25);
  return select(magnitude, -magnitude, z < 0.0);
}

fn silu(v: f32) -> f32 {
  return v * sigmoid(v);
}

// 0.5 v (1 + tanh(u)) = v sigmoid(2u) with u = sqrt(2 / pi) (v + 0.044715 v^3).
fn gelu_tanh(v: f32) -> f32 {
  return v * sigmoid(1.5957691216 * (v + 0.044715 * v * v * v));
}

fn gelu_quick(v: f32) -> f32 {
  return v * sigmoid(1.702 * v);
}

// v * (normal distribution function of v) by Abramowitz and Stegun 7.1.26, right to 1.5e-7 of |v|: its tail is (a polynomial in
// 1 / (1 + p a)) * exp(-a^2) with a = |v| / sqrt(2).
fn gelu_erf(v: f32) -> f32 {
  let a = min(abs(v) * 0.70710678, 14.0);
  let t = 1.0 / (1.0 + 0.3275911 * a);
  let polynomial = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))));
  let tail = 0.5 * polynomial * exp(-a * a);
  return v * select(1.0 - tail, tail, v < 0.0);
}

fn relu(v: f32) -> f32 {
  return max(v, 0.0);
}

fn relu_squared(v: f32) -> f32 {
  let positive = max(v, 0.0);
  return positive * positive;
}
