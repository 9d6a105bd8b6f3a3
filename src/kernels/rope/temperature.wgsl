// What q is multiplied by at a position (Temperature of rope.h).
fn temperature(position: u32) -> f32 {
#ifdef TEMPERATURE
  return 1.0 + TEMPERATURE * log(f32(1u + position / TEMPERATURE_PERIOD));
#else
  return 1.0;
#endif
}
