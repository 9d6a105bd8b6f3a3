// Four floats as f16, what lies beyond its range as its largest numbers. NaN stays what it is: a clamp may make a number of it, and a
// cache full of numbers would hide where it came from.
fn bounded_halves(v: vec4<f32>) -> vec2<u32> {
  let is_nan = (bitcast<vec4<u32>>(v) & vec4<u32>(0x7fffffffu)) > vec4<u32>(0x7f800000u);
  let bounded = select(clamp(v, vec4<f32>(-65504.0), vec4<f32>(65504.0)), v, is_nan);
  return vec2<u32>(pack2x16float(bounded.xy), pack2x16float(bounded.zw));
}
