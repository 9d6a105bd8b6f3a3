// Between the QKV product and attention on the CPU: head norms, rotation, KV append. Angles are
// turns counted in f64, so they hold at any position; sines and cosines of a token are computed
// once for all of its heads.
#include <algorithm>
#include <cmath>
#include <functional>

#include "base/check.h"
#include "kernels/rope/rope.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/rope/rope_cpu.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/common/kv-inl.h"
#include "kernels/common/math-inl.h"
#include "kernels/norm/norm-inl.h"

#ifndef PUNA_KERNELS_ROPE_ROPE_CPU_ONCE
#define PUNA_KERNELS_ROPE_ROPE_CPU_ONCE
namespace puna::kernels {
constexpr size_t kMaxPairs = 512;  // head_dim up to 1024

// Turns per position of every pair, and room for one token's sines and cosines.
struct Turns {
  double per_position[kMaxPairs];
  float cos[kMaxPairs];
  float sin[kMaxPairs];
};
}  // namespace puna::kernels
#endif

HWY_BEFORE_NAMESPACE();
namespace puna::kernels::HWY_NAMESPACE {

// By `position`, or by one for each pair.
template <bool kByPair>
HWY_INLINE void turn_token(Turns& turns, size_t n_pairs, int32_t position, const double* by_pair,
                           double magnitude) {
  const hn::ScalableTag<double> d;
  const hn::Rebind<float, decltype(d)> df;
  const size_t lanes = hn::Lanes(d);
  const auto p = hn::Set(d, static_cast<double>(position));
  for (size_t i = 0; i < n_pairs; i += lanes) {
    const auto by = kByPair ? hn::LoadU(d, by_pair + i) : p;
    const auto turn = hn::Mul(by, hn::LoadU(d, turns.per_position + i));
    const auto angle = hn::Mul(hn::Sub(turn, hn::Round(turn)), hn::Set(d, 6.283185307179586));
    auto sin = hn::Undefined(d);
    auto cos = hn::Undefined(d);
    hn::SinCos(d, angle, sin, cos);
    const auto m = hn::Set(d, magnitude);
    hn::StoreU(hn::DemoteTo(df, hn::Mul(m, sin)), df, turns.sin + i);
    hn::StoreU(hn::DemoteTo(df, hn::Mul(m, cos)), df, turns.cos + i);
  }
}

// A token whose pairs turn by the coordinates of their sections.
HWY_INLINE void turn_by_sections(Turns& turns, const RopeParams& rope, int32_t position,
                                 const RowPlace& place) {
  const uint32_t n_pairs = rope.n_rot / 2;
  double by_pair[kMaxPairs];
  for (uint32_t i = 0; i < n_pairs; ++i)
    by_pair[i] = static_cast<double>(position + place.turns[rope.sections.of(i)]);
  turn_token<true>(turns, n_pairs, position, by_pair, static_cast<double>(rope.magnitude));
}

// Rotates one head: in to out, which may be in.
HWY_INLINE void rotate(const RopeParams& rope, const Turns& turns, const float* in, float* out,
                       size_t head_dim) {
  const size_t n_pairs = rope.n_rot / 2;
  const hn::ScalableTag<float> d;
  const size_t lanes = hn::Lanes(d);
  size_t i = 0;
  if (rope.pairs == RopePairs::kNeox) {
    for (; i + lanes <= n_pairs; i += lanes) {
      const auto a = hn::LoadU(d, in + i);
      const auto b = hn::LoadU(d, in + n_pairs + i);
      const auto cos = hn::LoadU(d, turns.cos + i);
      const auto sin = hn::LoadU(d, turns.sin + i);
      hn::StoreU(hn::NegMulAdd(b, sin, hn::Mul(a, cos)), d, out + i);
      hn::StoreU(hn::MulAdd(a, sin, hn::Mul(b, cos)), d, out + n_pairs + i);
    }
  } else {
    for (; i + lanes <= n_pairs; i += lanes) {
      auto a = hn::Undefined(d);
      auto b = hn::Undefined(d);
      hn::LoadInterleaved2(d, in + 2 * i, a, b);
      const auto cos = hn::LoadU(d, turns.cos + i);
      const auto sin = hn::LoadU(d, turns.sin + i);
      hn::StoreInterleaved2(hn::NegMulAdd(b, sin, hn::Mul(a, cos)),
                            hn::MulAdd(a, sin, hn::Mul(b, cos)), d, out + 2 * i);
    }
  }
  for (; i < n_pairs; ++i) {
    const bool neox = rope.pairs == RopePairs::kNeox;
    const size_t at_a = neox ? i : 2 * i;
    const size_t at_b = neox ? i + n_pairs : 2 * i + 1;
    const float a = in[at_a];
    const float b = in[at_b];
    out[at_a] = a * turns.cos[i] - b * turns.sin[i];
    out[at_b] = a * turns.sin[i] + b * turns.cos[i];
  }
  if (out != in) std::copy(in + rope.n_rot, in + head_dim, out + rope.n_rot);
}

void rope_tokens(const RopeCpuArgs& args, Turns& turns, uint32_t begin, uint32_t end) {
  const size_t head_dim = args.kv.head_dim;
  const uint32_t n_kv = args.k_cache ? args.kv.n_kv_heads : 0;
  const Temperature& temperature = args.rope.temperature;
  float head[2 * kMaxPairs];
  for (uint32_t t = begin; t < end; ++t) {
    const int32_t position = args.step.positions[t];
    const uint32_t logical = static_cast<uint32_t>(position) / kPageTokens;
    const uint32_t slot = static_cast<uint32_t>(position) % kPageTokens;
    const uint32_t page =
        args.step.pages[size_t{args.step.sequences[t]} * args.step.pages_per_sequence + logical];
    if (args.rope.sections.any() && args.step.places) {
      turn_by_sections(turns, args.rope, position, args.step.places[t]);
    } else {
      turn_token<false>(turns, args.rope.n_rot / 2, position, nullptr,
                        static_cast<double>(args.rope.magnitude));
    }
    const auto periods = static_cast<float>((static_cast<uint32_t>(position) + temperature.offset) /
                                            temperature.period);
    const float q_scale = 1.0f + temperature.beta * std::log1p(periods);
    const float* in = args.qkv + size_t{t} * (args.n_heads + 2 * n_kv) * head_dim;
    for (uint32_t h = 0; h < args.n_heads + 2 * n_kv; ++h, in += head_dim) {
      const bool is_q = h < args.n_heads;
      const bool is_v = h >= args.n_heads + n_kv;
      if (is_v) {
        if (args.v_norm) scale_all(in, inverse_rms(in, head_dim, args.norm_eps), head, head_dim);
        store_kv_row(args.kv, args.v_cache, kv_row(args.kv, page, h - args.n_heads - n_kv, slot),
                     args.v_norm ? head : in);
        continue;
      }
      float* out = is_q ? args.q_out + (size_t{t} * args.n_heads + h) * head_dim : head;
      const float* gamma = is_q ? args.q_norm : args.k_norm;
      const bool norms_first = gamma && !args.rope.norms_last;
      if (norms_first) scale_by(in, gamma, inverse_rms(in, head_dim, args.norm_eps), out, head_dim);
      rotate(args.rope, turns, norms_first ? out : in, out, head_dim);
      if (gamma && !norms_first)
        scale_by(out, gamma, inverse_rms(out, head_dim, args.norm_eps), out, head_dim);
      if (is_q && temperature.beta != 0.0f) scale_all(out, q_scale, out, head_dim);
      if (!is_q)
        store_kv_row(args.kv, args.k_cache, kv_row(args.kv, page, h - args.n_heads, slot), out);
    }
  }
}

}  // namespace puna::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace puna::kernels {

HWY_EXPORT(rope_tokens);

void rope_append_cpu(base::ThreadPool& pool, const RopeCpuArgs& args) {
  PUNA_CHECK(args.kv.head_dim <= 2 * kMaxPairs && args.rope.n_rot <= args.kv.head_dim);
  PUNA_CHECK(args.rope.sections.sizes.back() == 0);
  const auto tokens = [&](uint32_t begin, uint32_t end) {
    Turns turns{};
    for (uint32_t i = 0; i < args.rope.n_rot / 2; ++i)
      turns.per_position[i] = rope_frequency(args.rope, args.freq_factors, i) / 6.283185307179586;
    HWY_DYNAMIC_DISPATCH(rope_tokens)(args, turns, begin, end);
  };
  pool.run(args.step.n_tokens, 8, std::ref(tokens));
}

}  // namespace puna::kernels
#endif
