// log(1 + exp(v)) = max(v, 0) + log1p(exp(-|v|)), and log1p(u) = 2 atanh(u / (2 + u)) as a series: u is at most 1, so the argument
// is at most 1 / 3.
fn softplus(v: f32) -> f32 {
  let u = exp(-abs(v));
  let r = u / (2.0 + u);
  let s = r * r;
  let series = 1.0 + s * (0.33333333 + s * (0.2 + s * (0.14285714 + s * (0.11111111 + s * (0.090909091 + s * 0.076923077)))));
  return max(v, 0.0) + 2.0 * r * series;
}
