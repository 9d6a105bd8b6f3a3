// A unit of x as bytes by eight neighbouring invocations, four elements each, so that x is read in order. All of a subgroup call it.
struct Eighth {
  words: vec4<u32>,  // in the first invocation of each half: its four words in order
  scale: f32,
  sums: vec2<i32>,  // in the first invocation: of the halves
#if X_PLANES == 2
  left: vec4<f32>,  // what the bytes leave of v
#endif
}
fn eighth_of_unit(v: vec4<f32>) -> Eighth {
  let a = magnitudes(v);
  var bits = max(max(a.x, a.y), max(a.z, a.w));
  bits = max(bits, subgroupShuffleXor(bits, 1u));
  bits = max(bits, subgroupShuffleXor(bits, 2u));
  bits = max(bits, subgroupShuffleXor(bits, 4u));
  let largest = bitcast<f32>(bits);
  let word = to_bytes(v, inverse_of_scale(largest));
  let words = vec4<u32>(word, subgroupShuffleXor(word, 1u), subgroupShuffleXor(word, 2u), subgroupShuffleXor(word, 3u));
  let sum = sum_of_bytes(words);
  let sums = vec2<i32>(sum, subgroupShuffleXor(sum, 4u));
#if X_PLANES == 2
  return Eighth(words, largest / 127.0, sums, v - largest / 127.0 * vec4<f32>(unpack4xI8(word)));
#else
  return Eighth(words, largest / 127.0, sums);
#endif
}
