// ALiBi (attention.h): what a head's slope takes off the score of a key; nothing without ALIBI.
#ifdef ALIBI
fn alibi_slope(head: u32) -> f32 {
  const own = u32(ALIBI_HEADS);  // the largest power of two up to N_HEADS
  return exp2(-ALIBI_STEP * select(0.5 * f32(2u * (head - own) + 1u), f32(head + 1u), head < own));
}

fn alibi(slope: f32, key: u32, position: u32) -> f32 {
  return -slope * abs(f32(key) - f32(position));
}
#endif
