// A copy between strided views (copy.h), one unit an invocation: a vec4 of words, a word, or a word of two halves. Words move as u32,
// so that every bit pattern survives. Axes count from the innermost; X_ROW
// and Y_ROW are strides of the grid's z.
#if VECTORS
#define UNIT vec4<u32>
#else
#define UNIT u32
#endif

@group(0) @binding(B_X) var<storage, read_write> x: array<UNIT>;
@group(0) @binding(B_Y) var<storage, read_write> y: array<UNIT>;

#if X_HALVES
// The bits of half i, lowest of a word.
fn load_half(i: u32) -> u32 {
  return (x[i / 2u] >> (i % 2u * 16u)) & 0xffffu;
}
#if !Y_HALVES
// The bits of the f32 that a half is. unpack2x16float may flush small ones and change what a NaN carries.
fn widened(half: u32) -> u32 {
  let exponent = (half >> 10u) & 0x1fu;
  let mantissa = half & 0x3ffu;
  var bits = ((exponent + 112u) << 23u) | (mantissa << 13u);
  if (exponent == 31u) {
    bits = 0x7f800000u | (mantissa << 13u);
  } else if (exponent == 0u) {
    bits = bitcast<u32>(f32(mantissa) * 0x1p-24);
  }
  return ((half & 0x8000u) << 16u) | bits;
}
#endif
#endif

#if Y_HALVES
// The half nearest to a float, ties to even, infinite beyond the largest. pack2x16float leaves the rounding and the range open.
fn nearest_half(bits: u32) -> u32 {
  let magnitude = bits & 0x7fffffffu;
  let sign = (bits >> 16u) & 0x8000u;
  var half = (magnitude + 0xfffu + ((magnitude >> 13u) & 1u) - 0x38000000u) >> 13u;
  if (magnitude > 0x7f800000u) {
    half = 0x7e00u | ((magnitude >> 13u) & 0x1ffu);
  } else if (magnitude >= 0x477ff000u) {
    half = 0x7c00u;
  } else if (magnitude < 0x38800000u) {
    // Below the least normal half: the mantissa, moved to units of 2^-24 and rounded.
    let shift = min(126u - (magnitude >> 23u), 31u);
    let mantissa = (magnitude & 0x7fffffu) | 0x800000u;
    half = mantissa >> shift;
    let rest = mantissa & ((1u << shift) - 1u);
    let tie = 1u << (shift - 1u);
    half += select(0u, 1u, rest > tie || (rest == tie && (half & 1u) == 1u));
  }
  return sign | half;
}
fn half_at(i: u32) -> u32 {
#if X_HALVES
  return load_half(i);
#else
  return nearest_half(x[i]);
#endif
}
#endif

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  var rest = id.y * SPAN + id.x;
  if (rest >= UNITS) {
    return;
  }
#ifdef X_ROW
  var source = X_OFFSET + id.z * X_ROW;
  var place = Y_OFFSET + id.z * Y_ROW;
#else
  var source = u32(X_OFFSET);
  var place = u32(Y_OFFSET);
#endif
#for axis in 0..AXES
  source += rest % SIZE_##axis * X_STRIDE_##axis;
  place += rest % SIZE_##axis * Y_STRIDE_##axis;
  rest = rest / SIZE_##axis;
#endfor
#if Y_HALVES
  y[place] = half_at(source) | (half_at(source + X_STEP) << 16u);
#elif X_HALVES
  y[place] = widened(load_half(source));
#else
  y[place] = x[source];
#endif
}
