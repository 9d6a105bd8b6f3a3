// f16 to f32, vectorised, with infinities and NaN as they are.
#if defined(PUNA_KERNELS_COMMON_HALVES_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef PUNA_KERNELS_COMMON_HALVES_INL_H
#undef PUNA_KERNELS_COMMON_HALVES_INL_H
#else
#define PUNA_KERNELS_COMMON_HALVES_INL_H
#endif

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace puna::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// As many as a vector of `d` has lanes, from `p` on.
template <class D>
HWY_INLINE hn::Vec<D> load_halves(D d, const hwy::float16_t* p) {
#if HWY_TARGET == HWY_WASM || HWY_TARGET == HWY_WASM_EMU256 || HWY_TARGET == HWY_SSE4 || \
    HWY_TARGET == HWY_SSSE3 || HWY_TARGET == HWY_SSE2
  // Where there is no instruction for it, Highway 1.2 makes finite numbers of what is not finite.
  // f32 has the exponent at a larger offset, which a product sets right, also for subnormal
  // numbers; an exponent of all ones becomes one by itself.
  const hn::RebindToUnsigned<D> du;
  const auto bits =
      hn::PromoteTo(du, hn::LoadU(hn::Rebind<uint16_t, D>(), reinterpret_cast<const uint16_t*>(p)));
  const auto size = hn::ShiftLeft<13>(hn::And(bits, hn::Set(du, 0x7fff)));
  const auto sign = hn::ShiftLeft<16>(hn::And(bits, hn::Set(du, 0x8000)));
  const auto is_finite = hn::Lt(size, hn::Set(du, 0x7c00 << 13));
  const auto ones = hn::IfThenZeroElse(is_finite, hn::Set(du, 0x7f800000));
  return hn::Or(hn::Mul(hn::BitCast(d, size), hn::Set(d, 0x1p112f)),
                hn::BitCast(d, hn::Or(sign, ones)));
#else
  return hn::PromoteTo(d, hn::LoadU(hn::Rebind<hwy::float16_t, D>(), p));
#endif
}

}  // namespace puna::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
