// Vector decoders of the packed blocks of packed.h: a unit's codes as eight vectors of bytes, its
// scales as f32. One vector holds the same columns of rows v * N .. v * N + N - 1 of the group; N =
// lanes of f32, at most 16.
#if defined(PUNA_KERNELS_MATMUL_CODES_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef PUNA_KERNELS_MATMUL_CODES_INL_H
#undef PUNA_KERNELS_MATMUL_CODES_INL_H
#else
#define PUNA_KERNELS_MATMUL_CODES_INL_H
#endif

#include "hwy/highway.h"
#include "kernels/common/halves-inl.h"
#include "kernels/matmul/packed.h"
#include "quant/iq4_nl.h"
#include "quant/mxfp4.h"
#include "quant/tq1_0.h"

HWY_BEFORE_NAMESPACE();
namespace puna::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using DF = hn::CappedTag<float, kGroupRows>;
using DI = hn::Rebind<int32_t, DF>;
using DU = hn::Rebind<uint32_t, DF>;
using DB = hn::Repartition<uint8_t, DF>;
using DS = hn::Repartition<int8_t, DF>;
using VF = hn::Vec<DF>;
using VI = hn::Vec<DI>;
using VB = hn::Vec<DB>;
using VS = hn::Vec<DS>;

constexpr size_t kLanes = hn::MaxLanes(DF());
constexpr size_t kSlices = kGroupRows / kLanes;  // vectors that cover a group
constexpr size_t kSliceBytes = 4 * kLanes;

// Whether q8_0's bytes enter products as signed numbers (with no offset to take off) or as unsigned
// ones.
#if (HWY_TARGET <= HWY_AVX3_DL && HWY_ARCH_X86) || defined(__wasm_relaxed_simd__)
constexpr bool kSignedBytes = false;
#else
constexpr bool kSignedBytes = true;
#endif

HWY_INLINE VB load_bytes(const uint8_t* p) { return hn::LoadU(DB(), p); }
HWY_INLINE VB mask_bytes(VB v, unsigned mask) {
  return hn::And(v, hn::Set(DB(), static_cast<uint8_t>(mask)));
}
// Shifts 32-bit lanes; the bits that cross a byte are masked off by the caller.
template <int kBits>
HWY_INLINE VB right(VB v) {
  return hn::BitCast(DB(), hn::ShiftRight<kBits>(hn::BitCast(DU(), v)));
}
template <int kBits>
HWY_INLINE VB left(VB v) {
  return hn::BitCast(DB(), hn::ShiftLeft<kBits>(hn::BitCast(DU(), v)));
}
// Field of kWidth bits at bit kAt of every byte, moved to bit kTo.
template <int kAt, int kTo, unsigned kWidth>
HWY_INLINE VB field(VB v) {
  constexpr unsigned kMask = ((1u << kWidth) - 1) << kTo;
  if constexpr (kAt > kTo) return mask_bytes(right<kAt - kTo>(v), kMask);
  if constexpr (kAt < kTo) return mask_bytes(left<kTo - kAt>(v), kMask);
  return mask_bytes(v, kMask);
}

// 16 values of a scale field as f32, rows of slice v.
HWY_INLINE VF load_halves(const uint8_t* p, size_t v) {
  return load_halves(DF(), reinterpret_cast<const hwy::float16_t*>(p) + v * kLanes);
}
HWY_INLINE VI load_small(const uint8_t* p, size_t v) {
  return hn::PromoteTo(DI(), hn::LoadU(hn::Rebind<uint8_t, DF>(), p + v * kLanes));
}
HWY_INLINE VI shift_right(VI v, size_t bits) {
  return hn::ShiftRightSame(v, static_cast<int>(bits));
}
HWY_INLINE VI load_small_signed(const uint8_t* p, size_t v) {
  return hn::PromoteTo(
      DI(), hn::LoadU(hn::Rebind<int8_t, DF>(), reinterpret_cast<const int8_t*>(p) + v * kLanes));
}

constexpr bool is_fp4(quant::Type type) {
  return type == quant::Type::kMXFP4 || type == quant::Type::kNVFP4;
}
// What is added to a looked-up value so that it is not negative.
constexpr uint32_t value_offset(quant::Type type) { return is_fp4(type) ? 12 : 128; }

// Codes 0..15 to values with their offset.
template <quant::Type kType>
HWY_INLINE VB look_up(VB codes) {
  constexpr const int8_t* kValues = is_fp4(kType) ? quant::kFp4Values : quant::kIq4Values;
  constexpr auto kOffset = static_cast<uint8_t>(value_offset(kType));
  const VB table = hn::Add(hn::LoadDup128(DB(), reinterpret_cast<const uint8_t*>(kValues)),
                           hn::Set(DB(), kOffset));
  return hn::TableLookupBytes(table, codes);
}

// 2^(e - 128) of each byte e, as mxfp4_scale().
HWY_INLINE VF load_powers(const uint8_t* p, size_t v) {
  const hn::Vec<DU> e = hn::PromoteTo(DU(), hn::LoadU(hn::Rebind<uint8_t, DF>(), p + v * kLanes));
  const hn::Vec<DU> one = hn::Set(DU(), 1);
  const hn::Vec<DU> normal = hn::ShiftLeft<23>(hn::Sub(hn::Max(e, one), one));
  const hn::Vec<DU> least = hn::Set(DU(), 0x00200000u);
  const hn::Vec<DU> small = hn::Add(least, hn::IfThenElseZero(hn::Eq(e, one), least));
  return hn::BitCast(DF(), hn::IfThenElse(hn::Gt(e, one), normal, small));
}

// nvfp4_scale() of each byte.
HWY_INLINE VF load_e4m3(const uint8_t* p, size_t v) {
  const VI bits = load_small(p, v);
  const VI exponent = hn::And(hn::ShiftRight<3>(bits), hn::Set(DI(), 15));
  const VI fraction = hn::And(bits, hn::Set(DI(), 7));
  const VI one = hn::Set(DI(), 1);
  const VI mantissa =
      hn::IfThenElse(hn::Lt(exponent, one), fraction, hn::Add(fraction, hn::Set(DI(), 8)));
  const VF power =
      hn::BitCast(DF(), hn::ShiftLeft<23>(hn::Add(hn::Max(exponent, one), hn::Set(DI(), 116))));
  const auto is_nan = hn::RebindMask(DF(), hn::Eq(bits, hn::Set(DI(), 0x7f)));
  return hn::IfThenZeroElse(is_nan, hn::Mul(hn::ConvertTo(DF(), mantissa), power));
}

// The digit of base 3 of every byte that `power` = 3^digit brings to the front (tq1_0.h).
HWY_INLINE VB digit(VB bytes, unsigned power) {
  using D16 = hn::Repartition<uint16_t, DF>;
  const D16 d16;
  const auto factor = hn::Set(d16, static_cast<uint16_t>(power));
  const auto words = hn::BitCast(d16, bytes);
  const auto even = hn::And(hn::Mul(words, factor), hn::Set(d16, 0xff));
  const auto odd = hn::ShiftLeft<8>(hn::Mul(hn::ShiftRight<8>(words), factor));
  // Three times the fraction is 1 from 86 on and 2 from 171 on. Compared as signed bytes.
  const VS rest = hn::BitCast(
      DS(), hn::Xor(hn::BitCast(DB(), hn::Or(even, odd)), hn::Set(DB(), uint8_t{0x80})));
  const VS from_one = hn::VecFromMask(DS(), hn::Gt(rest, hn::Set(DS(), int8_t{85 - 128})));
  const VS from_two = hn::VecFromMask(DS(), hn::Gt(rest, hn::Set(DS(), int8_t{170 - 128})));
  return hn::BitCast(DB(), hn::Neg(hn::Add(from_one, from_two)));
}

// The codes of unit u of a tq1_0 block (units as in the file: BlockTQ1_0).
HWY_INLINE void ternary_codes(const uint8_t* block, size_t u, size_t v, VB (&out)[8]) {
  const uint8_t* words = block + v * kSliceBytes;
  if (u < 5) {
    for (size_t j = 0; j < 8; ++j) out[j] = digit(load_bytes(words + 64 * j), quant::kPowersOf3[u]);
    return;
  }
  for (size_t j = 0; j < 4; ++j) {
    const VB w = load_bytes(words + 64 * (8 + j));
    out[j] = digit(w, quant::kPowersOf3[2 * (u - 5)]);
    out[4 + j] = u < 7 ? digit(w, quant::kPowersOf3[2 * (u - 5) + 1])
                       : digit(load_bytes(words + 64 * 12), quant::kPowersOf3[j]);
  }
}

template <quant::Type kType>
struct Codec {
  static constexpr PackedFormat kFormat = packed_format(kType);
  static constexpr size_t kHalves = kFormat.halves;

  // The 8 vectors of codes of unit u of a block: vector j, byte 4r + i = column 4j + i of row r.
  static HWY_INLINE void codes(const uint8_t* block, size_t u, size_t v, VB (&out)[8]) {
    const uint8_t* low = block + u * 64 * kFormat.low_bits + v * kSliceBytes;
    if constexpr (kType == quant::Type::kTQ1_0) {
      ternary_codes(block, u, v, out);
    } else if constexpr (kFormat.low_bits == 8) {
      for (size_t j = 0; j < 8; ++j) out[j] = load_bytes(low + 64 * j);
    } else if constexpr (kFormat.low_bits == 4) {
      for (size_t j = 0; j < 4; ++j) {
        const VB w = load_bytes(low + 64 * j);
        out[j] = field<0, 0, 4>(w);
        out[j + 4] = field<4, 0, 4>(w);
        if constexpr (is_lookup(kType)) {
          out[j] = look_up<kType>(out[j]);
          out[j + 4] = look_up<kType>(out[j + 4]);
        }
      }
    } else if constexpr (kFormat.low_bits == 2) {
      for (size_t j = 0; j < 2; ++j) {
        const VB w = load_bytes(low + 64 * j);
        out[4 * j] = field<0, 0, 2>(w);
        out[4 * j + 1] = field<2, 0, 2>(w);
        out[4 * j + 2] = field<4, 0, 2>(w);
        out[4 * j + 3] = field<6, 0, 2>(w);
      }
    }
    constexpr int kTo = static_cast<int>(kFormat.low_bits);
    const uint8_t* high =
        block + kFormat.high_offset() + u * 64 * kFormat.high_bits + v * kSliceBytes;
    if constexpr (kFormat.high_bits == 1) {
      const VB h = load_bytes(high);
      if constexpr (kFormat.low_bits == 0) {
        for (size_t j = 0; j < 8; ++j) out[j] = hn::Zero(DB());
      }
      out[0] = hn::Or(out[0], field<0, kTo, 1>(h));
      out[1] = hn::Or(out[1], field<1, kTo, 1>(h));
      out[2] = hn::Or(out[2], field<2, kTo, 1>(h));
      out[3] = hn::Or(out[3], field<3, kTo, 1>(h));
      out[4] = hn::Or(out[4], field<4, kTo, 1>(h));
      out[5] = hn::Or(out[5], field<5, kTo, 1>(h));
      out[6] = hn::Or(out[6], field<6, kTo, 1>(h));
      out[7] = hn::Or(out[7], field<7, kTo, 1>(h));
    } else if constexpr (kFormat.high_bits == 2) {
      for (size_t j = 0; j < 2; ++j) {
        const VB h = load_bytes(high + 64 * j);
        out[4 * j] = hn::Or(out[4 * j], field<0, kTo, 2>(h));
        out[4 * j + 1] = hn::Or(out[4 * j + 1], field<2, kTo, 2>(h));
        out[4 * j + 2] = hn::Or(out[4 * j + 2], field<4, kTo, 2>(h));
        out[4 * j + 3] = hn::Or(out[4 * j + 3], field<6, kTo, 2>(h));
      }
    }
  }

  // weight = a * code + b, a and b per half unit (the first of them where the scale covers the
  // unit). `offset8` is what the codes of q8_0, iq4_nl and iq4_xs carry on top of the signed byte:
  // 128 as stored, 0 when the product takes them as signed.
  static HWY_INLINE void scales(const uint8_t* block, size_t u, size_t v, float offset8,
                                VF (&a)[kHalves], VF (&b)[kHalves]) {
    using quant::Type;
    const DF df;
    if constexpr (kType == Type::kMXFP4) {
      a[0] = load_powers(block + kFormat.d_offset(), v);
      b[0] = hn::Mul(a[0], hn::Set(df, -static_cast<float>(value_offset(kType))));
      return;
    }
    if constexpr (kType == Type::kNVFP4) {
      for (size_t h = 0; h < 2; ++h) {
        a[h] = load_e4m3(block + kFormat.sub_offset() + (2 * u + h) * 16, v);
        b[h] = hn::Mul(a[h], hn::Set(df, -static_cast<float>(value_offset(kType))));
      }
      return;
    }
    const VF d = load_halves(block + kFormat.d_offset(), v);
    const uint8_t* sub = block + kFormat.sub_offset();
    if constexpr (kType == Type::kQ1_0) {
      a[0] = hn::Add(d, d);
      b[0] = hn::Neg(d);
    } else if constexpr (kFormat.sub_bytes == 0 || kType == Type::kTQ1_0) {
      a[0] = d;
      if constexpr (kFormat.has_min) {
        b[0] = load_halves(block + kFormat.d_offset() + 32, v);
      } else {
        const float offset =
            kFormat.max_code == 255 ? offset8 : static_cast<float>(zero_code(kType));
        b[0] = hn::Mul(d, hn::Set(df, -offset));
      }
    } else if constexpr (kType == Type::kIQ4_XS) {
      const VI low =
          hn::And(shift_right(load_small(sub + 16 * (u / 2), v), 4 * (u % 2)), hn::Set(DI(), 15));
      const VI top = hn::And(shift_right(load_small(sub + 64 + 16 * (u / 4), v), 2 * (u % 4)),
                             hn::Set(DI(), 3));
      const VI scale = hn::Sub(hn::Or(low, hn::ShiftLeft<4>(top)), hn::Set(DI(), 32));
      a[0] = hn::Mul(d, hn::ConvertTo(df, scale));
      b[0] = hn::Mul(a[0], hn::Set(df, -offset8));
    } else if constexpr (kType == Type::kQ6_K) {
      for (size_t h = 0; h < 2; ++h) {
        a[h] = hn::Mul(d, hn::ConvertTo(df, load_small_signed(sub + (2 * u + h) * 16, v)));
        b[h] = hn::Mul(a[h], hn::Set(df, -32.0f));
      }
    } else if constexpr (kType == Type::kQ2_K) {
      const VF min = load_halves(block + kFormat.d_offset() + 32, v);
      for (size_t h = 0; h < 2; ++h) {
        const VI both = load_small(sub + (2 * u + h) * 16, v);
        a[h] = hn::Mul(d, hn::ConvertTo(df, hn::And(both, hn::Set(DI(), 15))));
        b[h] = hn::Neg(hn::Mul(min, hn::ConvertTo(df, hn::ShiftRight<4>(both))));
      }
    } else {
      const VI lows = load_small(sub + 16 * u, v);
      VI tops = load_small(sub + 128 + 16 * (u / 2), v);
      if (u % 2 != 0) tops = hn::ShiftRight<4>(tops);
      const VI three = hn::Set(DI(), 3);
      const VI first =
          hn::Or(hn::And(lows, hn::Set(DI(), 15)), hn::ShiftLeft<4>(hn::And(tops, three)));
      const VI second = hn::Or(hn::ShiftRight<4>(lows),
                               hn::ShiftLeft<4>(hn::And(hn::ShiftRight<2>(tops), three)));
      if constexpr (kType == Type::kQ3_K) {
        const VI offset = hn::Set(DI(), 32);
        a[0] = hn::Mul(d, hn::ConvertTo(df, hn::Sub(first, offset)));
        a[1] = hn::Mul(d, hn::ConvertTo(df, hn::Sub(second, offset)));
        for (size_t h = 0; h < 2; ++h) b[h] = hn::Mul(a[h], hn::Set(df, -4.0f));
      } else {
        a[0] = hn::Mul(d, hn::ConvertTo(df, first));
        b[0] = hn::Neg(
            hn::Mul(load_halves(block + kFormat.d_offset() + 32, v), hn::ConvertTo(df, second)));
      }
    }
  }
};

}  // namespace puna::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
