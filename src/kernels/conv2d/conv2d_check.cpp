// The self-test of convolutions over images.
#include <fmt/format.h>

#include "kernels/conv2d/conv2d.h"
#include "kernels/conv2d/conv2d_ref.h"
#include "kernels/selftest/check.h"
#include "kernels/selftest/check_gpu.h"
#include "kernels/selftest/measure.h"

namespace puna::kernels {

using base::Result;

namespace {

Result<void> im2col_on_gpu(gpu::Device& device, const Conv2dCpuArgs& args) {
  Workbench bench(device);
  const uint64_t n = uint64_t{args.n_rows} * args.shape.columns();
  Im2colArgs a{"im2col", {}, {}, args.shape, args.first_row, args.n_rows};
  PUNA_TRY(a.x, bench.upload(args.x, args.shape.x_elements()));
  PUNA_TRY(a.y, bench.output(n));
  return run_and_read(bench, 1, kernels::im2col, a, args.y, n);
}

Result<void> depthwise_on_gpu(gpu::Device& device, const Conv2dCpuArgs& args) {
  Workbench bench(device);
  const Conv2dShape& s = args.shape;
  DepthwiseArgs a{"depthwise", {}, {}, {}, {}, s};
  PUNA_TRY(a.x, bench.upload(args.x, s.x_elements()));
  PUNA_TRY(a.weights, bench.upload(args.weights, s.columns()));
  if (args.bias) {
    PUNA_TRY(a.bias, bench.upload(args.bias, s.n_channels));
  }
  PUNA_TRY(a.y, bench.output(s.y_elements()));
  return run_and_read(bench, 1, kernels::depthwise, a, args.y, s.y_elements());
}

Result<void> im2col_on(Check& check, const Conv2dCpuArgs& args) {
  if (check.gpu()) return im2col_on_gpu(*check.gpu(), args);
  im2col_cpu(check.pool(), args);
  return {};
}

Result<void> depthwise_on(Check& check, const Conv2dCpuArgs& args) {
  if (check.gpu()) return depthwise_on_gpu(*check.gpu(), args);
  depthwise_cpu(check.pool(), args);
  return {};
}

Result<void> im2col(Check& check, std::string_view what, const Conv2dShape& shape) {
  if (!check.wanted("im2col", what)) return {};
  const auto x = normal(shape.x_elements(), 49);
  const uint32_t first = shape.rows() / 3, n_rows = shape.rows() - first - 1;
  std::vector<float> y(size_t{n_rows} * shape.columns()), expected = y;
  PUNA_TRY(im2col_on(check, {x.data(), nullptr, nullptr, y.data(), shape, first, n_rows}));
  im2col_ref({x.data(), nullptr, nullptr, expected.data(), shape, first, n_rows});
  return check.record(
      "im2col", what,
      fmt::format("{}, {} rows of {}", shape.layout == ImageLayout::kPlanes ? "planes" : "pixels",
                  n_rows, shape.columns()),
      different(y, expected), 0);
}

Result<void> depthwise(Check& check, std::string_view what, const Conv2dShape& shape) {
  if (!check.wanted("depthwise", what)) return {};
  const auto x = normal(shape.x_elements(), 50), weights = normal(shape.columns(), 51);
  const auto bias = normal(shape.n_channels, 52);
  for (const float* shift : {static_cast<const float*>(nullptr), bias.data()}) {
    std::vector<float> y(static_cast<size_t>(shape.y_elements())), expected = y;
    PUNA_TRY(depthwise_on(check, {x.data(), weights.data(), shift, y.data(), shape, 0, 0}));
    depthwise_ref({x.data(), weights.data(), shift, expected.data(), shape, 0, 0});
    PUNA_TRY(
        check.record("depthwise", what,
                     fmt::format("{}{}", shape.layout == ImageLayout::kPlanes ? "planes" : "pixels",
                                 shift ? ", bias" : ""),
                     nmse(y, expected), kF32Limit));
  }
  return {};
}

}  // namespace

Result<void> check_conv2d(Check& check) {
  const Conv2dShape patches{.n_images = 2,
                            .n_channels = 3,
                            .height = 28,
                            .width = 42,
                            .kernel_h = 14,
                            .kernel_w = 14,
                            .stride_h = 14,
                            .stride_w = 14};
  PUNA_TRY(im2col(check, "patches", patches));
  Conv2dShape general{.n_images = 2,
                      .n_channels = 5,
                      .height = 9,
                      .width = 11,
                      .kernel_h = 3,
                      .kernel_w = 2,
                      .stride_w = 2,
                      .pad_h = 2,
                      .pad_w = 1,
                      .dilation_h = 2,
                      .dilation_w = 3};
  Conv2dShape mel{.n_channels = 80, .width = 50, .kernel_w = 3, .pad_w = 1};
  for (const ImageLayout layout : {ImageLayout::kPlanes, ImageLayout::kPixels}) {
    general.layout = mel.layout = layout;
    PUNA_TRY(im2col(check, "strides, dilations", general));
    PUNA_TRY(im2col(check, "1d", mel));
    PUNA_TRY(depthwise(check, "strides, dilations", general));
    PUNA_TRY(depthwise(check, "1d", mel));
  }
  mel.stride_w = 2;
  return im2col(check, "1d", mel);
}

}  // namespace puna::kernels
