// The plain form of mrope.h: every angle by its formula in f64. YaRN is not in it; rope_ref.h has
// that.
#pragma once

#include <cmath>

#include "kernels/mrope/mrope.h"

namespace puna::kernels {

inline void mrope_ref(const MropeCpuArgs& args) {
  const MropeShape& s = args.shape;
  const uint32_t n_pairs = s.rope.n_rot / 2;
  for (uint64_t head = 0; head < uint64_t{args.n_rows} * s.n_heads; ++head) {
    const int32_t* position = args.positions + head / s.n_heads * kSections;
    float* v = args.y + head / s.n_heads * s.row_stride() + head % s.n_heads * s.head_dim;
    // Where each section begins, as kInTurn and kRestart have it.
    uint32_t section = 0, k = 0;
    for (uint32_t i = 0; i < n_pairs; ++i, ++k) {
      while (k == s.sections[section]) {
        ++section;
        k = 0;
      }
      double exponent = static_cast<double>(i) / n_pairs;
      int32_t at = position[section];
      if (s.order == SectionOrder::kRestart)
        exponent = static_cast<double>(k) / s.sections[section];
      if (s.order == SectionOrder::kDealt) {
        const uint32_t n_sections = n_pairs / s.sections[section];
        exponent = static_cast<double>(n_sections * k + section) / n_pairs;
      }
      if (s.order == SectionOrder::kByThrees) {
        const bool height = i % 3 == 1 && i < 3 * s.sections[1];
        const bool width = i % 3 == 2 && i < 3 * s.sections[2];
        at = position[height ? 1 : width ? 2 : 0];
      }
      const double angle = at * std::pow(double{s.rope.base}, -exponent) * s.rope.freq_scale;
      const bool neox = s.rope.pairs == RopePairs::kNeox;
      float& a = v[neox ? i : 2 * i];
      float& b = v[neox ? i + n_pairs : 2 * i + 1];
      const double a0 = double{a}, b0 = double{b};
      a = static_cast<float>(s.rope.magnitude * (a0 * std::cos(angle) - b0 * std::sin(angle)));
      b = static_cast<float>(s.rope.magnitude * (a0 * std::sin(angle) + b0 * std::cos(angle)));
    }
  }
}

}  // namespace puna::kernels
