// What x16.h needs: the power of two that a row is divided by.

// Its exponent; the largest magnitude comes below 2^15.
fn x16_exponent(peak: f32) -> u32 { return max(bitcast<u32>(peak) >> 23u, 141u) - 141u; }
fn x16_scale(exponent: u32) -> f32 { return bitcast<f32>((127u - exponent) << 23u); }
