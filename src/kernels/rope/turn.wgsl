// cos and sin of position * frequency, right to about 1e-7 at any position, in f32 and u32 alone.
// rope_table() on the host holds each frequency as turns per position, modulo one turn, as a binary fraction of 64 bits (made in
// f64, so its error is 2^-53 of it). position * fraction modulo 2^64 is the exact number of turns with the whole ones gone; its
// upper 32 bits are kept, an angle error of 2^-32 turns. The nearest quarter turn is split off, and what is left, within pi / 4,
// goes through Taylor series, because WGSL allows its own sin and cos an absolute error of 2^-11.

// Upper 32 bits of a * b.
fn multiply_high(a: u32, b: u32) -> u32 {
  let a0 = a & 0xffffu;
  let a1 = a >> 16u;
  let b0 = b & 0xffffu;
  let b1 = b >> 16u;
  let low = a1 * b0 + ((a0 * b0) >> 16u);
  let middle = a0 * b1 + (low & 0xffffu);
  return a1 * b1 + (low >> 16u) + (middle >> 16u);
}

// turns: upper and lower word of the table entry. Returns MAGNITUDE * (cos, sin).
fn turn(position: u32, turns: vec2<u32>) -> vec2<f32> {
  let t = position * turns.x + multiply_high(position, turns.y);
  let quarter = (t + 0x20000000u) >> 30u;
  let angle = f32(bitcast<i32>(t - (quarter << 30u))) * 1.4629180792671596e-9;  // 2 pi / 2^32
  let s = angle * angle;
  let sine = angle * (1.0 + s * (-0.16666667 + s * (0.0083333333 + s * (-1.9841270e-4 + s * 2.7557319e-6))));
  let cosine = 1.0 + s * (-0.5 + s * (0.041666667 + s * (-0.0013888889 + s * 2.4801587e-5)));
  let swapped = select(vec2<f32>(cosine, sine), vec2<f32>(sine, cosine), (quarter & 1u) == 1u);
#ifndef MAGNITUDE
#define MAGNITUDE 1.0
#endif
  // Quarter turns: (c, s), (-s, c), (-c, -s), (s, -c).
  return MAGNITUDE * vec2<f32>(select(swapped.x, -swapped.x, quarter == 1u || quarter == 2u), select(swapped.y, -swapped.y, quarter >= 2u));
}
