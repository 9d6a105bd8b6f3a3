// tq1_0: x = d * (t - 1), t a digit of base 3 (tq1_0.h), d for 256 elements.
// Planes: t5 [rows][blocks] three vec4 of bytes of five digits, t4 [groups][blocks] a word of bytes of four digits for each row,
// d4 [groups][blocks] four f16.
#define WEIGHT_FLOAT 0
#define WEIGHT_SCALES 1
#define WEIGHT_MIN 1

struct Group { t: vec4<u32>, d: vec2<u32> }

fn load_group(g: u32, r: u32, u: u32) -> Group {
  let block = g * (UNITS / 8u) + u / 8u;
  return Group(weights[PLANE_T4 + block], plane_pair(PLANE_D4, block));
}

// A digit of every byte; `power` is 3 to its number.
fn digits(bytes: vec4<u32>, power: vec4<u32>) -> vec4<u32> {
  let m = vec4<u32>(0x00ff00ffu);
  let even = (((bytes & m) * power) & m) * 3u;
  let odd = ((((bytes >> vec4<u32>(8u)) & m) * power) & m) * 3u;
  return ((even >> vec4<u32>(8u)) & vec4<u32>(0x00030003u)) | (odd & vec4<u32>(0x03000300u));
}

fn power_of_3(n: u32) -> u32 { return select(select(1u, 3u, n == 1u), select(select(9u, 27u, n == 3u), 81u, n == 4u), n > 1u); }

// Units 0..4 are a digit each of the first 32 bytes. Of the 16 bytes after them units 5 and 6 have two digits, unit 7 the last, and then
// the four digits of the last four bytes.
struct Raw { a: vec4<u32>, b: vec4<u32> }
fn load_raw(g: u32, r: u32, u: u32) -> Raw {
  let i = PLANE_T5 + ((g * 4u + r) * (UNITS / 8u) + u / 8u) * 3u;
  let low = (u & 7u) < 5u;
  return Raw(weights[i + select(2u, 0u, low)], weights[i + select(2u, 1u, low)]);
}

fn unpack(raw: Raw, group: Group, r: u32, u: u32) -> Unit {
  let j = u & 7u;
  let s = vec2<f32>(half_of_4(group.d, r));
  let low = j < 5u;
  let first = select(2u * j - 10u, j, low);
  let p = power_of_3(first);
  let q = select(power_of_3(first + 1u), p, low);
  let lo = digits(raw.a, vec4<u32>(p));
  let hi = select(digits(raw.b, vec4<u32>(q)), digits(vec4<u32>(group.t[r]), vec4<u32>(1u, 3u, 9u, 27u)), vec4<bool>(j == 7u));
  return Unit(lo, hi, s, -s);
}
