// The integer arithmetic of sampling; arithmetic.wgsl has the same functions. Floats appear where
// one rounded operation settles the result: a difference, a product, a conversion to an integer.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>

#include "kernels/sample/sampling.h"

namespace puna::kernels::sampling {

constexpr uint32_t kKeyNan = 0;  // and of nothing else
constexpr uint32_t kKeyNegativeInfinity = 0x007fffff;
constexpr uint32_t kKeyPositiveInfinity = 0xff800000;
constexpr float kFar = 1e30f;  // a distance beyond all others

inline uint32_t mul_high(uint32_t a, uint32_t b) {
  return static_cast<uint32_t>((uint64_t{a} * b) >> 32);
}

// f32 to an integer with the order of the numbers. NaN is 0, below -inf; numbers too small for a
// normal f32 count as 0, because GPUs may flush them.
inline uint32_t order_key(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return 0;
  if (magnitude < 0x00800000) return 0x80000000;
  return bits >> 31 ? ~bits : bits | 0x80000000;
}
inline float value_of(uint32_t key) {
  return std::bit_cast<float>(key >> 31 ? key & 0x7fffffff : ~key);
}

// Whether something can be chosen among keys, of which these are the least and the largest: none
// is NaN or +inf, and one is above -inf.
inline bool can_choose(uint32_t least, uint32_t largest) {
  return least > 0 && largest > kKeyNegativeInfinity && largest < kKeyPositiveInfinity;
}

// A logit of a token that `count` > 0 recent ones hold. Each product is rounded before it meets a
// sum: volatile keeps compilers from fusing the two.
inline float penalized(float l, uint32_t count, const SampleRow& row) {
  const volatile float scaled = l * (l > 0 ? row.repeat_inverse : row.repeat);
  const volatile float often = static_cast<float>(count) * row.frequency;
  return scaled - (often + row.presence);
}

// How far `key` lies below `top`, the largest key.
inline float distance(uint32_t key, uint32_t top) {
  if (key == top) return 0;
  if (key <= kKeyNegativeInfinity || top >= kKeyPositiveInfinity) return kFar;
  return std::min(value_of(top) - value_of(key), kFar);
}

// log2(x) in units of 2^-24, right to 2^-23; x > 0. The polynomial is log2(1 + f) / f on [0, 1],
// fitted for the smallest largest error.
inline uint32_t log2_q24(uint32_t x) {
  const auto shift = static_cast<uint32_t>(std::countl_zero(x));
  const uint32_t f = (x << shift) << 1;  // the fraction after the leading bit, in 2^-32
  uint32_t p = 10021322;                 // in 2^-30
  p = 56003599 - mul_high(f, p);
  p = 147839963 - mul_high(f, p);
  p = 259856651 - mul_high(f, p);
  p = 372988567 - mul_high(f, p);
  p = 514003416 - mul_high(f, p);
  p = 774348639 - mul_high(f, p);
  p = 1549076597 - mul_high(f, p);
  return ((31 - shift) << 24) + (mul_high(f, p) >> 6);
}

// 2^-t in units of 2^-26, below 2^26; t in units of 2^-20. The polynomial is (1 - 2^-f) / f.
inline uint32_t exp2_q26(uint32_t t) {
  const uint32_t f = t << 12;  // the fraction, in 2^-32
  uint32_t p = 1024636;        // in 2^-30
  p = 9909542 - mul_high(f, p);
  p = 59396436 - mul_high(f, p);
  p = 257898737 - mul_high(f, p);
  p = 744258184 - mul_high(f, p);
  const uint32_t mantissa = ((1u << 30) - mul_high(f, p)) >> 4;
  return std::min(mantissa >> std::min(t >> 20, 31u), (1u << 26) - 1);
}

// exp(-distance) in units of 2^-26.
inline uint32_t weight(uint32_t key, uint32_t top) {
  constexpr float kLog2EQ20 = 1512775.375f;
  constexpr float kNone = 64 << 20;
  return exp2_q26(static_cast<uint32_t>(std::min(distance(key, top) * kLog2EQ20, kNone)));
}

// -log2 of an exponential variate, in units of 2^-24: noise of Gumbel's kind for scores in bits.
// With v = (r + 1/2) / 2^32 the variate is -ln(1 - v). Below 1/2, where it matters most, it is
// v (1 + v/2 + ...), and the logarithm of the bracket is a polynomial in 2v; above, the logarithm
// of a logarithm.
inline int32_t gumbel_q24(uint32_t r) {
  if (r >> 31) {
    constexpr int32_t kTwentyFourMinusLog2Ln2 = 411524412;
    const uint32_t bits = (33u << 24) - log2_q24(2 * ~r + 1);  // -log2(1 - v)
    return kTwentyFourMinusLog2Ln2 - static_cast<int32_t>(log2_q24(bits));
  }
  const uint32_t x = 2 * r + 1;  // 2v in 2^-32
  uint32_t p = 4487786;          // in 2^-30
  p = 7769645 - mul_high(x, p);
  p = 12235947 - mul_high(x, p);
  p = 3775470 + mul_high(x, p);
  p = 25450413 + mul_high(x, p);
  p = 80526236 + mul_high(x, p);
  p = 387276960 + mul_high(x, p);
  return static_cast<int32_t>((33u << 24) - log2_q24(x)) -
         static_cast<int32_t>(mul_high(x, p) >> 6);
}

// Philox-4x32-10 (Salmon et al. 2011): four random words of a counter and a key.
inline std::array<uint32_t, 4> philox(std::array<uint32_t, 4> c, uint32_t key0, uint32_t key1) {
  for (int round = 0; round < 10; ++round) {
    const uint32_t high0 = mul_high(0xd2511f53, c[0]), low0 = 0xd2511f53 * c[0];
    const uint32_t high1 = mul_high(0xcd9e8d57, c[2]), low1 = 0xcd9e8d57 * c[2];
    c = {high1 ^ c[1] ^ key0, low1, high0 ^ c[3] ^ key1, low0};
    key0 += 0x9e3779b9;
    key1 += 0xbb67ae85;
  }
  return c;
}
// The words of tokens id, id + 1, id + 2, id + 3 (id a multiple of 4) for the token at `position`.
inline std::array<uint32_t, 4> noise_words(uint32_t id, uint32_t position, uint64_t seed) {
  return philox({id / 4, position, 0, 0}, static_cast<uint32_t>(seed),
                static_cast<uint32_t>(seed >> 32));
}
// Whether XTC comes into play for the token at `position`: a word of its own.
inline uint32_t chance_word(uint32_t position, uint64_t seed) {
  return philox({0, position, 1, 0}, static_cast<uint32_t>(seed),
                static_cast<uint32_t>(seed >> 32))[0];
}

// log2 of the unnormalised probability plus the noise, in units of 2^-24; the largest is drawn.
inline int32_t score(float distance, float scale, uint32_t word) {
  constexpr float kNever = 1 << 30;  // 2^-64 of the largest
  return gumbel_q24(word) - static_cast<int32_t>(std::min(distance * scale, kNever));
}

}  // namespace puna::kernels::sampling
