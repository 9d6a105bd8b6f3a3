// The plain forms of conv2d.h, sums in f64, and the dense convolution that im2col and a product
// must give.
#pragma once

#include "kernels/conv2d/conv2d.h"

namespace puna::kernels {

// x of tap (p, q) at the output (i, j), zero outside the image.
inline float conv2d_input(const Conv2dShape& s, const float* x, uint32_t image, uint32_t channel,
                          uint32_t i, uint32_t j, uint32_t p, uint32_t q) {
  const int64_t row = int64_t{i} * s.stride_h + int64_t{p} * s.dilation_h - s.pad_h;
  const int64_t column = int64_t{j} * s.stride_w + int64_t{q} * s.dilation_w - s.pad_w;
  if (row < 0 || row >= s.height || column < 0 || column >= s.width) return 0;
  return x[s.x_at(image, channel, static_cast<uint32_t>(row), static_cast<uint32_t>(column))];
}

// use(image, channel, i, j) for all outputs of n_channels.
template <class Use>
void for_each_output(const Conv2dShape& s, uint32_t n_channels, const Use& use) {
  for (uint32_t image = 0; image < s.n_images; ++image) {
    for (uint32_t i = 0; i < s.out_h(); ++i) {
      for (uint32_t j = 0; j < s.out_w(); ++j) {
        for (uint32_t c = 0; c < n_channels; ++c) use(image, c, i, j);
      }
    }
  }
}

inline void im2col_ref(const Conv2dCpuArgs& args) {
  const Conv2dShape& s = args.shape;
  for_each_output(s, s.n_channels, [&](uint32_t image, uint32_t c, uint32_t i, uint32_t j) {
    const uint64_t row = (uint64_t{image} * s.out_h() + i) * s.out_w() + j;
    if (row < args.first_row || row >= uint64_t{args.first_row} + args.n_rows) return;
    float* y = args.y + (row - args.first_row) * s.columns() + uint64_t{c} * s.n_taps();
    for (uint32_t tap = 0; tap < s.n_taps(); ++tap)
      y[tap] = conv2d_input(s, args.x, image, c, i, j, tap / s.kernel_w, tap % s.kernel_w);
  });
}

inline void depthwise_ref(const Conv2dCpuArgs& args) {
  const Conv2dShape& s = args.shape;
  for_each_output(s, s.n_channels, [&](uint32_t image, uint32_t c, uint32_t i, uint32_t j) {
    double sum = args.bias ? args.bias[c] : 0;
    for (uint32_t tap = 0; tap < s.n_taps(); ++tap)
      sum += double{args.weights[uint64_t{c} * s.n_taps() + tap]} *
             conv2d_input(s, args.x, image, c, i, j, tap / s.kernel_w, tap % s.kernel_w);
    args.y[s.y_at(image, c, i, j)] = static_cast<float>(sum);
  });
}

// The dense convolution: weights [n_out, n_channels, kernel_h, kernel_w], y [rows(), n_out].
inline void conv2d_ref(const Conv2dShape& s, const float* x, const float* weights, uint32_t n_out,
                       float* y) {
  for_each_output(s, n_out, [&](uint32_t image, uint32_t o, uint32_t i, uint32_t j) {
    double sum = 0;
    for (uint32_t c = 0; c < s.n_channels; ++c) {
      for (uint32_t tap = 0; tap < s.n_taps(); ++tap)
        sum += double{weights[(uint64_t{o} * s.n_channels + c) * s.n_taps() + tap]} *
               conv2d_input(s, x, image, c, i, j, tap / s.kernel_w, tap % s.kernel_w);
    }
    y[((uint64_t{image} * s.out_h() + i) * s.out_w() + j) * n_out + o] = static_cast<float>(sum);
  });
}

}  // namespace puna::kernels
