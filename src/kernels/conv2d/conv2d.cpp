// Shapes and the GPU forms of conv2d.h.
#include "kernels/conv2d/conv2d.h"

#include <algorithm>

#include "kernels/common/linear_grid.h"

namespace puna::kernels {
namespace {

Describe& numbers(Describe& call, const Conv2dShape& s) {
  call.number("CHANNELS", s.n_channels).number("HEIGHT", s.height).number("WIDTH", s.width);
  call.number("KERNEL_H", s.kernel_h).number("KERNEL_W", s.kernel_w);
  call.number("STRIDE_H", s.stride_h).number("STRIDE_W", s.stride_w);
  call.number("PAD_H", s.pad_h).number("PAD_W", s.pad_w);
  call.number("DILATION_H", s.dilation_h).number("DILATION_W", s.dilation_w);
  call.number("OUT_H", s.out_h()).number("OUT_W", s.out_w());
  return call.number("PIXELS", s.layout == ImageLayout::kPixels);
}

}  // namespace

uint32_t Conv2dShape::out(uint32_t n, uint32_t kernel, uint32_t stride, uint32_t pad,
                          uint32_t dilation) {
  return (n + 2 * pad - dilation * (kernel - 1) - 1) / stride + 1;
}
uint64_t Conv2dShape::at(uint32_t image, uint32_t channel, uint32_t i, uint32_t j, uint32_t h,
                         uint32_t w) const {
  return layout == ImageLayout::kPlanes
             ? ((uint64_t{image} * n_channels + channel) * h + i) * w + j
             : ((uint64_t{image} * h + i) * w + j) * n_channels + channel;
}
uint64_t Conv2dShape::x_at(uint32_t image, uint32_t channel, uint32_t i, uint32_t j) const {
  return at(image, channel, i, j, height, width);
}
uint64_t Conv2dShape::y_at(uint32_t image, uint32_t channel, uint32_t i, uint32_t j) const {
  return at(image, channel, i, j, out_h(), out_w());
}

base::Result<void> check_conv2d(std::string_view label, const Conv2dShape& s) {
  for (const uint32_t value : {s.n_images, s.n_channels, s.height, s.width, s.kernel_h, s.kernel_w,
                               s.stride_h, s.stride_w, s.dilation_h, s.dilation_w}) {
    if (value != 0) continue;
    return base::fail(base::ErrorCode::kInvalidArgument,
                      fmt::format("Convolution {} has {} images of {}x{}x{}, a kernel of {}x{}, "
                                  "strides {}, {} and dilations {}, {}; none can be 0.",
                                  label, s.n_images, s.n_channels, s.height, s.width, s.kernel_h,
                                  s.kernel_w, s.stride_h, s.stride_w, s.dilation_h, s.dilation_w));
  }
  const auto fits = [](uint32_t n, uint32_t kernel, uint32_t pad, uint32_t dilation) {
    return uint64_t{dilation} * (kernel - 1) < uint64_t{n} + 2 * uint64_t{pad};
  };
  if (!fits(s.height, s.kernel_h, s.pad_h, s.dilation_h) ||
      !fits(s.width, s.kernel_w, s.pad_w, s.dilation_w)) {
    return base::fail(base::ErrorCode::kInvalidArgument,
                      fmt::format("Convolution {} has a kernel of {}x{} at dilations {}, {} on an "
                                  "image of {}x{} padded by {}, {}; it must fit.",
                                  label, s.kernel_h, s.kernel_w, s.dilation_h, s.dilation_w,
                                  s.height, s.width, s.pad_h, s.pad_w));
  }
  const uint64_t side = std::max(uint64_t{s.height} + 2 * uint64_t{s.pad_h},
                                 uint64_t{s.width} + 2 * uint64_t{s.pad_w});
  if (s.x_elements() > INT32_MAX || side > INT32_MAX || s.out_h() > INT32_MAX / s.out_w() ||
      uint64_t{s.n_images} * s.out_h() * s.out_w() > INT32_MAX / s.n_channels ||
      uint64_t{s.kernel_h} * s.kernel_w > INT32_MAX / s.n_channels) {
    return base::fail(base::ErrorCode::kUnsupported,
                      fmt::format("Convolution {} has {} images of {}x{}x{}, or outputs of "
                                  "them, more than 31 bits count.",
                                  label, s.n_images, s.n_channels, s.height, s.width));
  }
  return {};
}

base::Result<void> im2col(const gpu::DeviceInfo& device, const Im2colArgs& args,
                          std::vector<KernelCall>& out) {
  const Conv2dShape& s = args.shape;
  PUNA_TRY(check_conv2d(args.label, s));
  if (args.n_rows == 0 || uint64_t{args.first_row} + args.n_rows > s.rows()) {
    return base::fail(
        base::ErrorCode::kInvalidArgument,
        fmt::format("Convolution {} takes rows {} to {} of {}.", args.label, args.first_row,
                    uint64_t{args.first_row} + args.n_rows, s.rows()));
  }
  const uint32_t unit = s.columns() % 4 == 0 ? 4 : 1;
  Describe call(args.label, "conv2d/im2col.wgsl");
  call.arena("B_X", args.x).arena("B_Y", args.y);
  numbers(call, s).number("COLUMNS", s.columns()).number("FIRST_ROW", args.first_row);
  const uint64_t elements = uint64_t{args.n_rows} * s.columns();
  return describe_linear(std::move(call), device, elements / unit, elements, out);
}

base::Result<void> depthwise(const gpu::DeviceInfo& device, const DepthwiseArgs& args,
                             std::vector<KernelCall>& out) {
  const Conv2dShape& s = args.shape;
  PUNA_TRY(check_conv2d(args.label, s));
  Describe call(args.label, "conv2d/depthwise.wgsl");
  call.arena("B_X", args.x).constant("B_WEIGHTS", args.weights);
  if (args.bias) call.constant("B_BIAS", *args.bias);
  call.arena("B_Y", args.y);
  numbers(call, s);
  return describe_linear(std::move(call), device, s.y_elements(), s.y_elements(), out);
}

}  // namespace puna::kernels
