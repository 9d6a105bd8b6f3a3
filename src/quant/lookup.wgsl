// Of the types whose 4 bits name one of 16 values. Plane b4 [rows][units] vec4: component k holds bit k of all 32 elements, bit 8b + j
// that of element 4j + b. So each bit of the values is a logic function of four words, computed for a whole unit at once, and a bit
// transpose gives bytes. No table is read. The functions were found by search; embedding tests compare every code.
struct Codes { lo: vec4<u32>, hi: vec4<u32> }

// Bits 0..3 of 32 values in a, 4..7 in b, as bytes: three rounds of a transpose of 8 x 8 bits, in four columns side by side.
fn bytes_of_bits(a: vec4<u32>, b: vec4<u32>) -> Codes {
  let m4 = vec4<u32>(0x0f0f0f0fu);
  let m2 = vec4<u32>(0x33333333u);
  let m1 = vec4<u32>(0x55555555u);
  let a4 = (a & m4) | ((b & m4) << vec4<u32>(4u));
  let b4 = ((a >> vec4<u32>(4u)) & m4) | (b & ~m4);
  let p = vec4<u32>(a4.xy, b4.xy);
  let q = vec4<u32>(a4.zw, b4.zw);
  let p2 = (p & m2) | ((q & m2) << vec4<u32>(2u));
  let q2 = ((p >> vec4<u32>(2u)) & m2) | (q & ~m2);
  let r = vec4<u32>(p2.x, q2.x, p2.z, q2.z);
  let t = vec4<u32>(p2.y, q2.y, p2.w, q2.w);
  let r1 = (r & m1) | ((t & m1) << vec4<u32>(1u));
  let t1 = ((r >> vec4<u32>(1u)) & m1) | (t & ~m1);
  return Codes(vec4<u32>(r1.x, t1.x, r1.y, t1.y), vec4<u32>(r1.z, t1.z, r1.w, t1.w));
}

#if defined(WEIGHT_IQ4_NL) || defined(WEIGHT_IQ4_XS)
// -127 -104 -83 -65 -49 -35 -22 -10 1 13 25 38 53 69 89 113
fn lookup(x: vec4<u32>) -> Codes {
  let differ = x.x ^ x.y;
  let mixed = differ | (x.x ^ x.z);
  let bit0 = x.y ^ (x.z | ~(x.x | x.y)) ^ (x.w & (x.x ^ (x.z & differ)));
  let bit1 = x.y ^ ((x.y ^ x.z) & ~x.x) ^ (x.w & x.z & ~(x.x & ~x.y));
  let bit2 = ((x.y ^ (x.z & ~(x.x & x.y))) & ~x.w) | ((x.x ^ (x.z & ~differ)) & x.w);
  let bit3 = (mixed & ~x.w) | ((x.x ^ (x.y | (x.x & x.z))) & x.w);
  let bit4 = x.x ^ (x.w & mixed);
  let bit5 = x.y ^ (x.w & (x.y | x.z) & ~x.x);
  let bit6 = x.z & ~(x.w & ~(x.x | x.y));
  return bytes_of_bits(vec4<u32>(bit0, bit1, bit2, bit3), vec4<u32>(bit4, bit5, bit6, ~x.w));
}
#else
// Twice the values of e2m1: 0 1 2 3 4 6 8 12 and the same negative.
fn lookup(x: vec4<u32>) -> Codes {
  let bit0 = x.x & ~x.z;
  let differ = x.x ^ x.y;
  let both = x.y & x.z;
  let any_low = differ | bit0;
  let negative = (any_low | x.z) & x.w;
  let bit1 = (differ ^ (bit0 & ~x.w)) & ~both;
  let bit3 = (negative ^ both) | (negative & ~x.x);
  let bit2 = (bit3 & any_low) ^ x.z;
  return bytes_of_bits(vec4<u32>(bit0, bit1, bit2, bit3), vec4<u32>(negative));
}
#endif

struct Raw { bits: vec4<u32> }
fn load_raw(g: u32, r: u32, u: u32) -> Raw { return Raw(weights[PLANE_B4 + (g * 4u + r) * UNITS + u]); }
