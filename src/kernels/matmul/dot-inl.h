// Running sums of products of codes with int8 activations, 4 columns of some rows of a group at a
// time: what differs between targets inside int8_tile-inl.h. A form has
//   kPanelRows             activation rows that the panel kernel keeps in registers
//   Dot<kMaxCode, kSteps>  add<j>(codes, x) is called for j = 0, 1, .. kSteps - 1 with the codes of
//                          columns 4j .. 4j + 3, none above kMaxCode, and with the activations of
//                          these columns; then total() is the sum of each row
// Activations lie between -127 and 127.
#if defined(PUNA_KERNELS_MATMUL_DOT_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef PUNA_KERNELS_MATMUL_DOT_INL_H
#undef PUNA_KERNELS_MATMUL_DOT_INL_H
#else
#define PUNA_KERNELS_MATMUL_DOT_INL_H
#endif

#include <cstring>

#include "hwy/highway.h"
#include "kernels/common/cpu_variant.h"
#include "kernels/matmul/codes-inl.h"
#include "kernels/matmul/job.h"

HWY_BEFORE_NAMESPACE();
namespace puna::kernels::HWY_NAMESPACE {

using D16 = hn::Repartition<int16_t, DF>;
using V16 = hn::Vec<D16>;

// 32 bits of activations, the same for every row.
HWY_INLINE VS broadcast(const ActivationCode* x) {
#if HWY_TARGET == HWY_WASM  // one instruction, where Set() makes two
  return VS{wasm_v128_load32_splat(x)};
#else
  int32_t word;
  std::memcpy(&word, x, 4);
  return hn::BitCast(DS(), hn::Set(DI(), word));
#endif
}

// How many times products of two columns, each at most kLargest, are summed in 16 bits.
template <unsigned kLargest>
constexpr int sums_that_fit() {
  return kLargest <= 15 ? 8 : kLargest <= 31 ? 4 : kLargest <= 63 ? 2 : 1;
}

#if HWY_TARGET == HWY_AVX2
// vpmaddubsw, summed in 16 bits as long as that fits.
struct PairForm {
  static constexpr int kPanelRows = 4;

  template <unsigned kMaxCode, int kSteps>
  struct Dot {
    static constexpr int kRun = HWY_MIN(sums_that_fit<kMaxCode>(), kSteps);
    V16 part;
    VI sum;
    HWY_INLINE Dot() = default;
    template <int j>
    HWY_INLINE void add(VB w, const ActivationCode* codes) {
      const VS x = broadcast(codes);
      V16 pairs;
      if constexpr (kMaxCode > 63) {
        const VS signed_w = hn::BitCast(DS(), hn::Xor(w, hn::Set(DB(), 0x80)));
        pairs = hn::SatWidenMulPairwiseAdd(D16(), hn::BitCast(DB(), hn::Abs(signed_w)),
                                           hn::IfNegativeThenNegOrUndefIfZero(signed_w, x));
      } else {
        pairs = hn::SatWidenMulPairwiseAdd(D16(), w, x);
      }
      part = j % kRun == 0 ? pairs : hn::Add(part, pairs);
      if constexpr (j % kRun == kRun - 1) {
        const VI wide = hn::WidenMulPairwiseAdd(DI(), part, hn::Set(D16(), int16_t{1}));
        sum = j < kRun ? wide : hn::Add(sum, wide);
      }
    }
    HWY_INLINE VI total() const { return sum; }
  };
};

#elif HWY_TARGET == HWY_WASM && defined(__wasm_relaxed_simd__)
// Relaxed SIMD multiplies signed bytes with numbers of seven bits. Codes of eight bits are two
// nibbles.
template <unsigned kMaxCode, class Sum>
struct NibbleDot {
  static constexpr bool kTwo = kMaxCode > 127;
  Sum low, high;
  template <int j>
  HWY_INLINE void add(VB w, const ActivationCode* codes) {
    const VS x = broadcast(codes);
    if constexpr (kTwo) {
      low.template add<j>(mask_bytes(w, 15), x);
      high.template add<j>(field<4, 0, 4>(w), x);
    } else {
      low.template add<j>(w, x);
    }
  }
  HWY_INLINE VI total() const {
    if constexpr (kTwo) return hn::Add(low.sum, hn::ShiftLeft<4>(high.sum));
    return low.sum;
  }
};

// i32x4.relaxed_dot_i8x16_i7x16_add: one instruction of Arm processors with dot products and of x86
// with AVX-VNNI.
struct QuadForm {
  static constexpr int kPanelRows = 4;
  struct Sum {
    VI sum;
    template <int j>
    HWY_INLINE void add(VB w, VS x) {
      const VI before = j == 0 ? hn::Zero(DI()) : sum;
      sum = VI{wasm_i32x4_relaxed_dot_i8x16_i7x16_add(x.raw, w.raw, before.raw)};
    }
  };
  template <unsigned kMaxCode, int kSteps>
  using Dot = NibbleDot<kMaxCode, Sum>;
};

// i16x8.relaxed_dot_i8x16_i7x16, which is vpmaddubsw on x86, summed in 16 bits as long as that
// fits.
struct PairForm {
  static constexpr int kPanelRows = 4;
  template <unsigned kLargest, int kSteps>
  struct Sum {
    static constexpr int kRun = HWY_MIN(sums_that_fit<kLargest>(), kSteps);
    V16 part;
    VI sum;
    template <int j>
    HWY_INLINE void add(VB w, VS x) {
      const V16 pairs{wasm_i16x8_relaxed_dot_i8x16_i7x16(x.raw, w.raw)};
      part = j % kRun == 0 ? pairs : hn::Add(part, pairs);
      if constexpr (j % kRun == kRun - 1) {
        const VI wide{wasm_i32x4_extadd_pairwise_i16x8(part.raw)};
        sum = j < kRun ? wide : hn::Add(sum, wide);
      }
    }
  };
  template <unsigned kMaxCode, int kSteps>
  using Dot = NibbleDot<kMaxCode, Sum<(kMaxCode > 127 ? 15 : kMaxCode), kSteps> >;
};

// Whether sums of four are made of vpmaddubsw here and further instructions. Nothing tells but what
// an operand of eight bits gives: pairs that do not fit 16 bits.
inline bool sums_pairs_first() {
  static const bool answer = [] {
    volatile int8_t largest = 127, all_bits = -1;  // not known to who would compute it beforehand
    const v128_t sum = wasm_i32x4_relaxed_dot_i8x16_i7x16_add(
        wasm_i8x16_splat(largest), wasm_i8x16_splat(all_bits), wasm_i32x4_const_splat(0));
    return wasm_i32x4_extract_lane(sum, 0) == 2 * INT16_MAX;
  }();
  return answer;
}

#elif HWY_TARGET == HWY_WASM
// There is no product of bytes. That of 16-bit lanes adds pairs: one product of the even columns,
// one of the odd ones, with activations that lie widened and in that order (ActivationCode).
struct WideForm {
  static constexpr int kPanelRows = 4;
  template <unsigned kMaxCode, int kSteps>
  struct Dot {
    VI sum;
    template <int j>
    HWY_INLINE void add(VB w, const ActivationCode* x) {
      const bool is_signed = kMaxCode > 127;
      const V16 both = hn::BitCast(D16(), is_signed ? hn::Xor(w, hn::Set(DB(), 0x80)) : w);
      const V16 even = is_signed ? hn::ShiftRight<8>(hn::ShiftLeft<8>(both))
                                 : hn::And(both, hn::Set(D16(), int16_t{0xff}));
      const V16 odd = hn::ShiftRight<8>(both);
      const VI first = hn::WidenMulPairwiseAdd(DI(), even, hn::BitCast(D16(), broadcast(x)));
      const VI before = j == 0 ? first : hn::Add(sum, first);
      sum =
          hn::Add(before, hn::WidenMulPairwiseAdd(DI(), odd, hn::BitCast(D16(), broadcast(x + 2))));
    }
    HWY_INLINE VI total() const { return sum; }
  };
};

#else
// Four columns at a time by Quads::add(codes, x, before), of unsigned codes or signed ones.
template <class Quads>
struct QuadFormOf {
#if HWY_TARGET <= HWY_AVX3_DL && HWY_ARCH_X86
  static constexpr int kPanelRows = 12;
#elif HWY_ARCH_ARM_A64
  static constexpr int kPanelRows = 8;
#else
  static constexpr int kPanelRows = 4;
#endif
  template <unsigned kMaxCode, int kSteps>
  struct Dot {
    VI sum;
    HWY_INLINE Dot() = default;
    template <int j>
    HWY_INLINE void add(VB w, const ActivationCode* codes) {
      const VS x = broadcast(codes);
      const VI before = j == 0 ? hn::Zero(DI()) : sum;
      if constexpr (!kSignedBytes) {
        sum = Quads::add(w, x, before);
      } else {
        const VB signed_w = kMaxCode > 127 ? hn::Xor(w, hn::Set(DB(), 0x80)) : w;
        sum = Quads::add(hn::BitCast(DS(), signed_w), x, before);
      }
    }
    HWY_INLINE VI total() const { return sum; }
  };
};

struct HighwayQuads {
  template <class Codes>
  static HWY_INLINE VI add(Codes w, VS x, VI before) {
    return hn::SumOfMulQuadAccumulate(DI(), w, x, before);
  }
};
using QuadForm = QuadFormOf<HighwayQuads>;

#if HWY_ARCH_ARM_A64
// sdot, which most processors of Highway's plain NEON target have and Highway 1.2.0 does not use.
struct SdotQuads {
  static HWY_INLINE VI add(VS w, VS x, VI before) {
#if defined(__ARM_FEATURE_DOTPROD)
    return VI(vdotq_s32(before.raw, w.raw, x.raw));
#else  // the intrinsic is for functions compiled for such processors alone
    int32x4_t sum = before.raw;
    asm(".arch armv8.2-a+dotprod\n\tsdot %0.4s, %1.16b, %2.16b"
        : "+w"(sum)
        : "w"(w.raw), "w"(x.raw));
    return VI(sum);
#endif
  }
};
using SdotForm = QuadFormOf<SdotQuads>;
#endif
#endif

// Calls run(form) with the form that is fastest on this machine.
template <class Run>
HWY_INLINE void with_form(const Run& run) {
#if HWY_TARGET == HWY_AVX2
  run(PairForm());
#elif HWY_TARGET == HWY_WASM && defined(__wasm_relaxed_simd__)
  sums_pairs_first() ? run(PairForm()) : run(QuadForm());
#elif HWY_TARGET == HWY_WASM
  run(WideForm());
#elif HWY_ARCH_ARM_A64
  cpu_extensions().dot_products ? run(SdotForm()) : run(QuadForm());
#else
  run(QuadForm());
#endif
}

}  // namespace puna::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
