// RMS norm with the additions around it (norm.h). One workgroup of WG invocations a row; each keeps its PER units of the row in
// registers, so that the row is read once. A unit is a vec4 where N divides by 4, else one element. f32 throughout.
#include "common/reduce.wgsl"

#if N % 4 == 0
#define UNIT vec4<f32>
#define UNITS (N / 4)
#define SQUARE(v) dot(v, v)
#else
#define UNIT f32
#define UNITS N
#define SQUARE(v) (v) * (v)
#endif
#define PER ((UNITS + WG - 1) / WG)

@group(0) @binding(B_X) var<storage, read_write> x: array<UNIT>;
#ifdef B_POST_GAMMA
@group(0) @binding(B_POST_GAMMA) var<storage, read> post_gamma: array<UNIT>;
#endif
#ifdef B_RESIDUAL
@group(0) @binding(B_RESIDUAL) var<storage, read_write> residual: array<UNIT>;
#endif
#ifdef B_SCALE
@group(0) @binding(B_SCALE) var<storage, read> scale: array<f32>;
#endif
#ifdef B_GAMMA
@group(0) @binding(B_GAMMA) var<storage, read> gamma: array<UNIT>;
#endif
#ifdef B_Y
@group(0) @binding(B_Y) var<storage, read_write> y: array<UNIT>;
#endif
#ifdef B_X16
// y for products in tiles of matrix units: four halves each, of a row behind the other, then the exponents.
@group(0) @binding(B_X16) var<storage, read_write> x16: array<vec2<u32>>;
#include "common/x16.wgsl"
#endif

fn inverse_rms(squares: f32) -> f32 {
  return inverseSqrt(squares / f32(N) + EPS);
}

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, LANE_BUILTINS) {
  let row = workgroup.x * UNITS;
  var r: array<UNIT, PER>;
  var squares = 0.0;
  for (var i = 0u; i < PER; i++) {
    let unit = local + i * WG;
    if (unit < UNITS) {
      r[i] = x[row + unit];
      squares += SQUARE(r[i]);
    }
  }

#ifdef B_POST_GAMMA
  let post = inverse_rms(workgroup_sum(squares, LANES));
  squares = 0.0;
  for (var i = 0u; i < PER; i++) {
    let unit = local + i * WG;
    if (unit < UNITS) {
      r[i] = r[i] * post * post_gamma[unit];
      squares += SQUARE(r[i]);
    }
  }
#endif

#ifdef B_RESIDUAL
  squares = 0.0;
  for (var i = 0u; i < PER; i++) {
    let unit = local + i * WG;
    if (unit < UNITS) {
#ifdef B_SCALE
      r[i] = (r[i] + residual[row + unit]) * scale[0];
#else
      r[i] = r[i] + residual[row + unit];
#endif
      residual[row + unit] = r[i];
      squares += SQUARE(r[i]);
    }
  }
#endif

#ifdef B_Y
  let inverse = inverse_rms(workgroup_sum(squares, LANES));
  for (var i = 0u; i < PER; i++) {
    let unit = local + i * WG;
    if (unit < UNITS) {
      y[row + unit] = r[i] * inverse * gamma[unit];
    }
  }
#endif

#ifdef B_X16
  let inverse = inverse_rms(workgroup_sum(squares, LANES));
  var peak = 0.0;
  for (var i = 0u; i < PER; i++) {
    let unit = local + i * WG;
    if (unit < UNITS) {
      r[i] = r[i] * inverse * gamma[unit];
      let a = abs(r[i]);
      peak = max(peak, max(max(a.x, a.y), max(a.z, a.w)));
    }
  }
  let exponent = x16_exponent(workgroup_max(peak, LANES));
  let scale = x16_scale(exponent);
  for (var i = 0u; i < PER; i++) {
    let unit = local + i * WG;
    if (unit < UNITS) {
      x16[row + unit] = vec2<u32>(pack2x16float(r[i].xy * scale), pack2x16float(r[i].zw * scale));
    }
  }
  if (local == 0u) {
    x16[X16_ROWS * UNITS + workgroup.x * 2u] = vec2<u32>(exponent);
    x16[X16_ROWS * UNITS + workgroup.x * 2u + 1u] = vec2<u32>(exponent);
  }
#endif
}
