// The functions of arithmetic.h; look there for what they compute. Integers only, but for a difference, a product and a
// conversion, so every device gets the same bits.
const KEY_NEGATIVE_INFINITY = 0x007fffffu;
const KEY_NAN = 0u;  // and of nothing else
const KEY_NAN_SEEN = 0xffffffffu;  // no key, but a mark
const KEY_POSITIVE_INFINITY = 0xff800000u;
const FAR = 1e30f;

// Words of a row of parameters (SampleRow in sampling.h).
const ROW_WORDS = 16u;
const ROW_SCALE = 0u;
const ROW_TOP_K = 1u;
const ROW_TOP_P = 2u;
const ROW_LOG_MIN_P = 3u;
const ROW_REPEAT = 4u;
const ROW_REPEAT_INVERSE = 5u;
const ROW_FREQUENCY = 6u;
const ROW_PRESENCE = 7u;
const ROW_WINDOW = 8u;
const ROW_BIAS_COUNT = 9u;
const ROW_SEED_LOW = 10u;
const ROW_SEED_HIGH = 11u;
const ROW_ZERO = 12u;
const ROW_FILTERED = 13u;

fn mul_high(a: u32, b: u32) -> u32 {
  let a0 = a & 0xffffu;
  let a1 = a >> 16u;
  let b0 = b & 0xffffu;
  let b1 = b >> 16u;
  let middle = a1 * b0 + ((a0 * b0) >> 16u);
  let other = a0 * b1 + (middle & 0xffffu);
  return a1 * b1 + (middle >> 16u) + (other >> 16u);
}

fn order_key(bits: u32) -> u32 {
  let magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) {
    return 0u;
  }
  if (magnitude < 0x00800000u) {
    return 0x80000000u;
  }
  return select(bits | 0x80000000u, ~bits, (bits >> 31u) == 1u);
}

fn value_of(key: u32) -> f32 {
  return bitcast<f32>(select(~key, key & 0x7fffffffu, (key >> 31u) == 1u));
}

fn distance_below(key: u32, top: u32) -> f32 {
  if (key == top) {
    return 0.0;
  }
  if (key <= KEY_NEGATIVE_INFINITY || top >= KEY_POSITIVE_INFINITY) {
    return FAR;
  }
  return min(value_of(top) - value_of(key), FAR);
}

fn log2_q24(x: u32) -> u32 {
  let shift = countLeadingZeros(x);
  let f = (x << shift) << 1u;
  var p = 10021322u;
  p = 56003599u - mul_high(f, p);
  p = 147839963u - mul_high(f, p);
  p = 259856651u - mul_high(f, p);
  p = 372988567u - mul_high(f, p);
  p = 514003416u - mul_high(f, p);
  p = 774348639u - mul_high(f, p);
  p = 1549076597u - mul_high(f, p);
  return ((31u - shift) << 24u) + (mul_high(f, p) >> 6u);
}

fn exp2_q26(t: u32) -> u32 {
  let f = t << 12u;
  var p = 1024636u;
  p = 9909542u - mul_high(f, p);
  p = 59396436u - mul_high(f, p);
  p = 257898737u - mul_high(f, p);
  p = 744258184u - mul_high(f, p);
  let mantissa = ((1u << 30u) - mul_high(f, p)) >> 4u;
  return min(mantissa >> min(t >> 20u, 31u), (1u << 26u) - 1u);
}

fn weight(key: u32, top: u32) -> u32 {
  return exp2_q26(u32(min(distance_below(key, top) * 1512775.375, 67108864.0)));
}

fn gumbel_q24(r: u32) -> i32 {
  if ((r >> 31u) == 1u) {
    let bits = (33u << 24u) - log2_q24(2u * ~r + 1u);
    return 411524412 - i32(log2_q24(bits));
  }
  let x = 2u * r + 1u;
  var p = 4487786u;
  p = 7769645u - mul_high(x, p);
  p = 12235947u - mul_high(x, p);
  p = 3775470u + mul_high(x, p);
  p = 25450413u + mul_high(x, p);
  p = 80526236u + mul_high(x, p);
  p = 387276960u + mul_high(x, p);
  return i32((33u << 24u) - log2_q24(x)) - i32(mul_high(x, p) >> 6u);
}

fn philox(counter: vec4<u32>, key: vec2<u32>) -> vec4<u32> {
  var c = counter;
  var k = key;
  for (var i = 0; i < 10; i++) {
    let high0 = mul_high(0xd2511f53u, c.x);
    let low0 = 0xd2511f53u * c.x;
    let high1 = mul_high(0xcd9e8d57u, c.z);
    let low1 = 0xcd9e8d57u * c.z;
    c = vec4<u32>(high1 ^ c.y ^ k.x, low1, high0 ^ c.w ^ k.y, low0);
    k += vec2<u32>(0x9e3779b9u, 0xbb67ae85u);
  }
  return c;
}

fn score(below: f32, scale: f32, word: u32) -> i32 {
  return gumbel_q24(word) - i32(min(below * scale, 1073741824.0));
}
