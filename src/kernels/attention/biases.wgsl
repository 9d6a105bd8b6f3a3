// Biases by distance (attention.h): what a head adds to the score of a key; nothing without B_BIASES.
#ifdef B_BIASES
@group(0) @binding(B_BIASES) var<storage, read> biases: array<f32>;

fn bias(head: u32, key: u32, position: u32) -> f32 {
  const reach = i32(BIAS_REACH);
  let distance = clamp(i32(key) - i32(position), -reach, reach);
  return biases[head * u32(2 * reach + 1) + u32(distance + reach)];
}
#endif
