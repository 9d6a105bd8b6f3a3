// The plain form of rope.h: every angle by its formula in f64, every KV element through kv_ref.h.
#pragma once

#include <cmath>
#include <vector>

#include "kernels/common/kv_ref.h"
#include "kernels/norm/norm_ref.h"
#include "kernels/rope/rope.h"

namespace puna::kernels {

// The coordinate that pair i turns by.
inline uint32_t section_ref(const RopeSections& sections, uint32_t i) {
  if (sections.order == SectionOrder::kByThrees) {
    if (i % 3 == 1 && i < 3 * sections.sizes[1]) return 1;
    return i % 3 == 2 && i < 3 * sections.sizes[2] ? 2 : 0;
  }
  return i < sections.sizes[0] ? 0 : i < sections.sizes[0] + sections.sizes[1] ? 1 : 2;
}

// Rotates one head in place.
inline void rope_row_ref(std::vector<double>& v, const RopeParams& rope, const float* freq_factors,
                         int32_t position, const RowPlace& place = {}) {
  for (uint32_t i = 0; i < rope.n_rot / 2; ++i) {
    double frequency = std::pow(double{rope.base}, -2.0 * i / rope.n_rot);
    double share = 1;
    if (rope.yarn.original_context > 0) {
      // Turns over the original context say where the pair lies between slow and fast.
      const auto pair_of = [&](double turns) {
        return rope.n_rot / 2.0 * std::log(rope.yarn.original_context / (turns * 2 * M_PI)) /
               std::log(double{rope.base});
      };
      const double fast = pair_of(rope.yarn.beta_fast), slow = pair_of(rope.yarn.beta_slow);
      const double begin = std::fmax(rope.yarn.truncate ? std::floor(fast) : fast, 0);
      const double end = std::fmin(rope.yarn.truncate ? std::ceil(slow) : slow, rope.n_rot - 1.0);
      share = std::fmin(std::fmax((i - begin) / std::fmax(end - begin, 0.001), 0), 1);
    }
    frequency *= share * rope.freq_scale + 1 - share;
    if (freq_factors) frequency /= freq_factors[i];
    const int32_t added = rope.sections.any() ? place.turns[section_ref(rope.sections, i)] : 0;
    const double angle = (position + added) * frequency;
    const bool neox = rope.pairs == RopePairs::kNeox;
    double& a = v[neox ? i : 2 * i];
    double& b = v[neox ? i + rope.n_rot / 2 : 2 * i + 1];
    const double a0 = a;
    a = rope.magnitude * (a0 * std::cos(angle) - b * std::sin(angle));
    b = rope.magnitude * (a0 * std::sin(angle) + b * std::cos(angle));
  }
}

inline void rope_append_ref(const RopeCpuArgs& args) {
  const uint32_t head_dim = args.kv.head_dim;
  const uint32_t n_kv = args.k_cache ? args.kv.n_kv_heads : 0;
  const std::vector<float> ones(head_dim, 1.0f);
  for (uint32_t t = 0; t < args.step.n_tokens; ++t) {
    const int32_t position = args.step.positions[t];
    const RowPlace place = args.step.places ? args.step.places[t] : RowPlace{};
    const uint32_t logical = static_cast<uint32_t>(position) / kPageTokens;
    const uint32_t page =
        args.step.pages[uint64_t{args.step.sequences[t]} * args.step.pages_per_sequence + logical];
    for (uint32_t h = 0; h < args.n_heads + 2 * n_kv; ++h) {
      const float* in = args.qkv + (uint64_t{t} * (args.n_heads + 2 * n_kv) + h) * head_dim;
      std::vector<double> v(in, in + head_dim);
      const bool is_q = h < args.n_heads;
      const bool is_v = h >= args.n_heads + n_kv;
      const float* gamma = is_q ? args.q_norm : args.k_norm;
      if (!is_v && gamma && !args.rope.norms_last) rms_norm_row_ref(v, gamma, args.norm_eps);
      if (is_v && args.v_norm) rms_norm_row_ref(v, ones.data(), args.norm_eps);
      if (!is_v) rope_row_ref(v, args.rope, args.freq_factors, position, place);
      if (!is_v && gamma && args.rope.norms_last) rms_norm_row_ref(v, gamma, args.norm_eps);
      const Temperature& temperature = args.rope.temperature;
      const double periods =
          std::floor((position + temperature.offset) / static_cast<double>(temperature.period));
      for (double& value : v) value *= is_q ? 1 + temperature.beta * std::log(1 + periods) : 1;
      const std::vector<float> out(v.begin(), v.end());
      if (is_q) {
        std::copy(out.begin(), out.end(), args.q_out + (uint64_t{t} * args.n_heads + h) * head_dim);
        continue;
      }
      const uint32_t head = is_v ? h - args.n_heads - n_kv : h - args.n_heads;
      kv_store_ref(args.kv, is_v ? args.v_cache : args.k_cache,
                   kv_row(args.kv, page, head, static_cast<uint32_t>(position) % kPageTokens),
                   out.data());
    }
  }
}

}  // namespace puna::kernels
