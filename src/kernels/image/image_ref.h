// The plain forms of image.h: places and weights in f64, tap after tap.
#pragma once

#include <algorithm>
#include <cmath>

#include "kernels/image/image.h"

namespace puna::kernels {

// The weight of a pixel at a distance from the place that is looked at.
inline double resize_weight(Resize how, double distance) {
  const double d = std::fabs(distance);
  if (how == Resize::kLinear) return std::max(1 - d, 0.0);
  constexpr double kA = -0.75;
  if (d <= 1) return ((kA + 2) * d - (kA + 3)) * d * d + 1;
  return d < 2 ? ((d - 5) * d + 8) * d * kA - 4 * kA : 0;
}

inline double resize_place(const ResizeShape& s, uint32_t i, uint32_t n, uint32_t out) {
  if (!s.align_corners) return (i + 0.5) * n / out - 0.5;
  return out > 1 ? double{1} * i * (n - 1) / (out - 1) : 0;
}

// x of a plane, its edge beyond it.
inline double resize_pixel(const float* x, const ImageShape& s, int64_t i, int64_t j) {
  const int64_t row = std::clamp<int64_t>(i, 0, s.height - 1);
  const int64_t column = std::clamp<int64_t>(j, 0, s.width - 1);
  return x[(row * s.width + column) * s.n_inner];
}

inline float resize_ref(const ResizeShape& shape, const float* x, uint32_t i, uint32_t j) {
  const ImageShape& s = shape.image;
  if (shape.how == Resize::kNearest)
    return x[(uint64_t{i} * s.height / s.out_h * s.width + uint64_t{j} * s.width / s.out_w) *
             s.n_inner];
  const double row = resize_place(shape, i, s.height, s.out_h);
  const double column = resize_place(shape, j, s.width, s.out_w);
  const auto top = static_cast<int64_t>(std::floor(row)),
             left = static_cast<int64_t>(std::floor(column));
  double sum = 0;
  for (int64_t p = top - 1; p <= top + 2; ++p) {
    for (int64_t q = left - 1; q <= left + 2; ++q)
      sum += resize_weight(shape.how, row - static_cast<double>(p)) *
             resize_weight(shape.how, column - static_cast<double>(q)) * resize_pixel(x, s, p, q);
  }
  return static_cast<float>(sum);
}

inline void resize_ref(const ResizeCpuArgs& args) {
  const ImageShape& s = args.shape.image;
  for (uint64_t e = 0; e < s.y_elements(); ++e) {
    const uint64_t inner = e % s.n_inner, j = e / s.n_inner % s.out_w;
    const uint64_t i = e / s.n_inner / s.out_w % s.out_h, outer = e / s.n_inner / s.out_w / s.out_h;
    const float* plane = args.x + outer * s.height * s.width * s.n_inner + inner;
    args.y[e] = resize_ref(args.shape, plane, static_cast<uint32_t>(i), static_cast<uint32_t>(j));
  }
}

// Where an index along an axis of n falls, or -1 for the value.
inline int64_t pad_index(Pad how, int64_t i, int64_t n) {
  if (i >= 0 && i < n) return i;
  switch (how) {
    case Pad::kValue:
      return -1;
    case Pad::kEdge:
      return i < 0 ? 0 : n - 1;
    case Pad::kReflect:
      return i < 0 ? -i : 2 * (n - 1) - i;
    case Pad::kWrap:
      return i < 0 ? i + n : i - n;
  }
  return -1;
}

inline void pad_ref(const PadCpuArgs& args) {
  const PadShape& shape = args.shape;
  const ImageShape& s = shape.image;
  for (uint64_t e = 0; e < s.y_elements(); ++e) {
    const uint64_t inner = e % s.n_inner, outer = e / s.n_inner / s.out_w / s.out_h;
    const auto j = static_cast<int64_t>(e / s.n_inner % s.out_w) - shape.left;
    const auto i = static_cast<int64_t>(e / s.n_inner / s.out_w % s.out_h) - shape.top;
    const int64_t row = pad_index(shape.how, i, s.height),
                  column = pad_index(shape.how, j, s.width);
    args.y[e] = row < 0 || column < 0
                    ? shape.value
                    : args.x[((outer * s.height + static_cast<uint64_t>(row)) * s.width +
                              static_cast<uint64_t>(column)) *
                                 s.n_inner +
                             inner];
  }
}

}  // namespace puna::kernels
