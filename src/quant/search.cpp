#include "quant/search.h"

#include <algorithm>
#include <cmath>

#include "quant/block.h"

namespace puna::quant {

namespace {

// Grids tried reach from kBelow levels fewer to kAbove more than the range has, kStep apart. Steps
// and span are where the error of normal and Laplace data stopped falling (less than 0.1 % from
// halving the step).
constexpr float kStep = 0.125f;
constexpr float kBelow = 1.0f;
constexpr float kAbove = 1.0f;

float largest_magnitude(const float* x, int n) {
  float largest = 0;
  for (int i = 0; i < n; ++i) largest = std::max(largest, std::fabs(x[i]));
  return largest;
}

float quantized(float x, float inverse, float lo, float hi) {
  const float v = std::min(std::max(x * inverse, lo), hi);
  return (v + 12582912.0f) - 12582912.0f;  // round to nearest, as in round_clamp
}

// Squared error of one group under fixed scale and min.
float group_error(const float* x, int n, float scale, float min, float lo, float hi) {
  const float inverse = safe_inverse(scale);
  float error = 0;
  for (int i = 0; i < n; ++i) {
    const float diff = x[i] - min - scale * quantized(x[i] - min, inverse, lo, hi);
    error += diff * diff;
  }
  return error;
}

struct Fit {
  float gain = -1;  // squared error saved against encoding nothing
  float scale = 0;
};

Fit fit_scale(const float* x, int n, float inverse, float lo, float hi) {
  float xq = 0;
  float qq = 0;
  for (int i = 0; i < n; ++i) {
    const float q = quantized(x[i], inverse, lo, hi);
    xq += x[i] * q;
    qq += q * q;
  }
  if (!(qq > 0)) return {};
  return {xq * xq / qq, xq / qq};
}

struct AffineFit {
  float gain = -1;
  Affine value;
};

AffineFit fit_affine(const float* x, int n, float sum_x, float inverse, float min, float hi,
                     bool min_at_most_zero) {
  float xq = 0;
  float qq = 0;
  float sum_q = 0;
  for (int i = 0; i < n; ++i) {
    const float q = quantized(x[i] - min, inverse, 0, hi);
    xq += x[i] * q;
    qq += q * q;
    sum_q += q;
  }
  const float count = static_cast<float>(n);
  const float determinant = count * qq - sum_q * sum_q;
  if (!(determinant > 0)) return {};
  Affine fit{(count * xq - sum_x * sum_q) / determinant, (qq * sum_x - sum_q * xq) / determinant};
  if (min_at_most_zero && fit.min > 0) fit = {xq / qq, 0};
  return {fit.scale * xq + fit.min * sum_x, fit};
}

}  // namespace

float search_scale(const float* x, int n, int lo, int hi) {
  const float largest = largest_magnitude(x, n);
  if (!(safe_inverse(largest) > 0)) return 0;
  const float low = static_cast<float>(lo);
  const float high = static_cast<float>(hi);
  Fit best;
  for (float levels = high - kBelow; levels <= -low + kAbove; levels += kStep) {
    for (const float inverse : {levels / largest, -levels / largest}) {
      const Fit fit = fit_scale(x, n, inverse, low, high);
      if (fit.gain > best.gain) best = fit;
    }
  }
  const Fit refined = fit_scale(x, n, safe_inverse(best.scale), low, high);
  return refined.gain > best.gain ? refined.scale : best.scale;
}

Affine search_affine(const float* x, int n, int hi, bool min_at_most_zero) {
  float low = x[0];
  float high = x[0];
  float sum = 0;
  for (int i = 0; i < n; ++i) {
    low = std::min(low, x[i]);
    high = std::max(high, x[i]);
    sum += x[i];
  }
  if (min_at_most_zero) low = std::min(low, 0.0f);
  const float range = high - low;
  if (!(safe_inverse(range) > 0)) return {0, low};
  const float levels_max = static_cast<float>(hi);
  AffineFit best{0, {range / levels_max, low}};
  best.gain = -1;
  // Shrinking the grid from both ends clips outliers; least squares then moves the minimum where it
  // belongs.
  for (float levels = levels_max - kBelow; levels <= levels_max + 2 * kAbove; levels += kStep) {
    const float step = range / levels;
    const float slack = 0.5f * (levels - levels_max) * step;
    for (const float min : {low, low + slack}) {
      const AffineFit fit = fit_affine(x, n, sum, 1.0f / step, min, levels_max, min_at_most_zero);
      if (fit.gain > best.gain && fit.value.scale > 0) best = fit;
    }
  }
  for (int round = 0; round < 2; ++round) {
    const AffineFit fit = fit_affine(x, n, sum, safe_inverse(best.value.scale), best.value.min,
                                     levels_max, min_at_most_zero);
    if (!(fit.gain > best.gain) || !(fit.value.scale > 0)) break;
    best = fit;
  }
  return best.value;
}

namespace {

// Picks, for given d and dmin, each group's integer scale and min near what it wants, and the
// elements. Returns the squared error.
double assign_affine(const float x[256], int group_elements, int hi, int max_scale,
                     const Affine wanted[16], SuperAffine& out) {
  const float d = base::f16_to_f32(out.d);
  const float dmin = base::f16_to_f32(out.dmin);
  const float high = static_cast<float>(hi);
  double total = 0;
  for (int j = 0; j < 256 / group_elements; ++j) {
    const float* group = x + j * group_elements;
    const int scale = round_clamp(wanted[j].scale * safe_inverse(d), 0, max_scale);
    const int min = round_clamp(-wanted[j].min * safe_inverse(dmin), 0, max_scale);
    float best = HUGE_VALF;
    for (int s = std::max(scale - 1, 0); s <= std::min(scale + 1, max_scale); ++s) {
      for (int m = std::max(min - 1, 0); m <= std::min(min + 1, max_scale); ++m) {
        const float error = group_error(group, group_elements, d * static_cast<float>(s),
                                        -dmin * static_cast<float>(m), 0, high);
        if (!(error < best)) continue;
        best = error;
        out.scale[j] = static_cast<uint8_t>(s);
        out.min[j] = static_cast<uint8_t>(m);
      }
    }
    const float offset = dmin * static_cast<float>(out.min[j]);
    const float inverse = safe_inverse(d * static_cast<float>(out.scale[j]));
    for (int i = 0; i < group_elements; ++i) {
      out.q[j * group_elements + i] =
          static_cast<uint8_t>(round_clamp((group[i] + offset) * inverse, 0, hi));
    }
    total += best;
  }
  return total;
}

double assign_symmetric(const float x[256], int lo, int hi, int scale_lo, const float wanted[16],
                        SuperSymmetric& out) {
  const float d = base::f16_to_f32(out.d);
  const float low = static_cast<float>(lo);
  const float high = static_cast<float>(hi);
  const int scale_hi = -scale_lo - 1;
  double total = 0;
  for (int j = 0; j < 16; ++j) {
    const float* group = x + j * 16;
    const int scale = round_clamp(wanted[j] * safe_inverse(d), scale_lo, scale_hi);
    float best = HUGE_VALF;
    for (int s = std::max(scale - 1, scale_lo); s <= std::min(scale + 1, scale_hi); ++s) {
      const float error = group_error(group, 16, d * static_cast<float>(s), 0, low, high);
      if (!(error < best)) continue;
      best = error;
      out.scale[j] = static_cast<int8_t>(s);
    }
    const float inverse = safe_inverse(d * static_cast<float>(out.scale[j]));
    for (int i = 0; i < 16; ++i)
      out.q[j * 16 + i] = static_cast<int8_t>(round_clamp(group[i] * inverse, lo, hi));
    total += best;
  }
  return total;
}

}  // namespace

SuperAffine search_super_affine(const float x[256], int group_elements, int hi, int max_scale) {
  Affine wanted[16];
  float largest_scale = 0;
  float largest_min = 0;
  for (int j = 0; j < 256 / group_elements; ++j) {
    wanted[j] =
        search_affine(x + j * group_elements, group_elements, hi, /*min_at_most_zero=*/true);
    largest_scale = std::max(largest_scale, wanted[j].scale);
    largest_min = std::max(largest_min, -wanted[j].min);
  }
  SuperAffine best;
  best.d = to_finite_f16(largest_scale / static_cast<float>(max_scale));
  best.dmin = to_finite_f16(largest_min / static_cast<float>(max_scale));
  double best_error = assign_affine(x, group_elements, hi, max_scale, wanted, best);

  // With everything integer fixed, x is linear in d and dmin: refit both, assign again, keep what
  // is better.
  double xa = 0, xb = 0, aa = 0, ab = 0, bb = 0;
  for (int i = 0; i < 256; ++i) {
    const int j = i / group_elements;
    const double a = best.scale[j] * best.q[i];
    const double b = -static_cast<double>(best.min[j]);
    xa += x[i] * a;
    xb += x[i] * b;
    aa += a * a;
    ab += a * b;
    bb += b * b;
  }
  const double determinant = aa * bb - ab * ab;
  SuperAffine refit;
  if (determinant > 0) {
    refit.d = to_finite_f16(static_cast<float>((xa * bb - xb * ab) / determinant));
    refit.dmin = to_finite_f16(static_cast<float>((xb * aa - xa * ab) / determinant));
  } else if (aa > 0) {
    refit.d = to_finite_f16(static_cast<float>(xa / aa));
    refit.dmin = best.dmin;
  }
  if (assign_affine(x, group_elements, hi, max_scale, wanted, refit) < best_error) best = refit;
  return best;
}

SuperSymmetric search_super_symmetric(const float x[256], int lo, int hi, int scale_lo) {
  float wanted[16];
  float largest = 0;  // signed: it maps to scale_lo, the longer side of the range
  for (int j = 0; j < 16; ++j) {
    wanted[j] = search_scale(x + j * 16, 16, lo, hi);
    if (std::fabs(wanted[j]) > std::fabs(largest)) largest = wanted[j];
  }
  SuperSymmetric best;
  best.d = to_finite_f16(largest / static_cast<float>(scale_lo));
  const double best_error = assign_symmetric(x, lo, hi, scale_lo, wanted, best);

  double xa = 0, aa = 0;
  for (int i = 0; i < 256; ++i) {
    const int j = i / 16;
    const double a = best.scale[j] * best.q[i];
    xa += x[i] * a;
    aa += a * a;
  }
  SuperSymmetric refit;
  if (aa > 0) refit.d = to_finite_f16(static_cast<float>(xa / aa));
  if (assign_symmetric(x, lo, hi, scale_lo, wanted, refit) < best_error) best = refit;
  return best;
}

}  // namespace puna::quant
