// Convolution of images for encoders. A dense one is im2col and a product with the weight as it
// lies in the file:
//   im2col: y[(b, i, j), (c, p, q)] = x[b, c, i * stride_h + p * dilation_h - pad_h, j * stride_w +
//   q * dilation_w - pad_w], zero
//           outside the image; then matmul.h with W [c_out, c * kernel_h * kernel_w] gives
//           [n_images * out_h * out_w, c_out], a token a pixel, as transformers want them
//   depthwise: y[b, c, i, j] = bias[c] + sum_pq w[c, p, q] * (the same x)
// A 1D convolution has a height of 1. conv.h is the causal one of recurrent layers, with state.
//   x  f32, n_images times planes [c, height, width] or pixels [height, width, c]
//   y  of depthwise: as x, with out_h and out_w
// Source: Chellapilla, Puri and Simard 2006, section 3 (im2col).
#pragma once

#include <optional>
#include <vector>

#include "base/thread_pool.h"
#include "kernels/common/call.h"

namespace puna::kernels {

enum class ImageLayout : uint8_t { kPlanes, kPixels };

struct Conv2dShape {
  uint32_t n_images = 1;
  uint32_t n_channels = 0, height = 1, width = 0;
  uint32_t kernel_h = 1, kernel_w = 1;
  uint32_t stride_h = 1, stride_w = 1;
  uint32_t pad_h = 0, pad_w = 0;  // on either side
  uint32_t dilation_h = 1, dilation_w = 1;
  ImageLayout layout = ImageLayout::kPlanes;

  uint32_t out_h() const { return out(height, kernel_h, stride_h, pad_h, dilation_h); }
  uint32_t out_w() const { return out(width, kernel_w, stride_w, pad_w, dilation_w); }
  uint32_t n_taps() const { return kernel_h * kernel_w; }
  uint32_t columns() const { return n_channels * n_taps(); }
  uint32_t rows() const { return n_images * out_h() * out_w(); }
  uint64_t x_elements() const { return uint64_t{n_images} * n_channels * height * width; }
  uint64_t y_elements() const { return uint64_t{rows()} * n_channels; }  // of depthwise
  // Index of an element of x.
  uint64_t x_at(uint32_t image, uint32_t channel, uint32_t i, uint32_t j) const;
  uint64_t y_at(uint32_t image, uint32_t channel, uint32_t i, uint32_t j) const;

 private:
  static uint32_t out(uint32_t n, uint32_t kernel, uint32_t stride, uint32_t pad,
                      uint32_t dilation);
  uint64_t at(uint32_t image, uint32_t channel, uint32_t i, uint32_t j, uint32_t h,
              uint32_t w) const;
};
// Errors: kInvalidArgument for sizes or steps of 0 and a kernel larger than its padded image;
// kUnsupported for images of more elements than 31 bits count.
base::Result<void> check_conv2d(std::string_view label, const Conv2dShape& shape);

// Rows first_row .. first_row + n_rows of the whole matrix: a product takes up to kMaxStepTokens at
// a time.
struct Im2colArgs {
  std::string label;
  Slice x = {}, y = {};
  Conv2dShape shape = {};
  uint32_t first_row = 0, n_rows = 0;
};
base::Result<void> im2col(const gpu::DeviceInfo& device, const Im2colArgs& args,
                          std::vector<KernelCall>& out);

struct DepthwiseArgs {
  std::string label;
  Slice x = {}, weights = {}, y = {};  // weights [n_channels, kernel_h, kernel_w] f32
  std::optional<Slice> bias = {};      // [n_channels] f32
  Conv2dShape shape = {};
};
base::Result<void> depthwise(const gpu::DeviceInfo& device, const DepthwiseArgs& args,
                             std::vector<KernelCall>& out);

struct Conv2dCpuArgs {
  const float* x = nullptr;
  const float* weights = nullptr;  // of depthwise
  const float* bias = nullptr;     // of depthwise; null = none
  float* y = nullptr;
  Conv2dShape shape = {};
  uint32_t first_row = 0, n_rows = 0;  // of im2col
};
void im2col_cpu(base::ThreadPool& pool, const Conv2dCpuArgs& args);
void depthwise_cpu(base::ThreadPool& pool, const Conv2dCpuArgs& args);

}  // namespace puna::kernels
