// What q is multiplied by at a position (Temperature of rope.h).
fn temperature(position: u32) -> f32 {
#ifdef TEMPERATURE
#ifdef TEMPERATURE_OFFSET
  let counted = position + TEMPERATURE_OFFSET;
#else
  let counted = position;
#endif
  return 1.0 + TEMPERATURE * log(f32(1u + counted / TEMPERATURE_PERIOD));
#else
  return 1.0;
#endif
}
