// The self-test of resized and padded images.
#include <fmt/format.h>

#include "kernels/image/image.h"
#include "kernels/image/image_ref.h"
#include "kernels/selftest/check.h"
#include "kernels/selftest/check_gpu.h"
#include "kernels/selftest/measure.h"

namespace puna::kernels {

using base::Result;

namespace {

template <class CpuArgs, class Args, class Describe>
Result<void> image_on_gpu(gpu::Device& device, const CpuArgs& cpu, Args args, Describe& describe) {
  Workbench bench(device);
  const ImageShape& s = cpu.shape.image;
  PUNA_TRY(args.x, bench.upload(cpu.x, s.x_elements()));
  PUNA_TRY(args.y, bench.output(s.y_elements()));
  return run_and_read(bench, 1, describe, args, cpu.y, s.y_elements());
}

Result<void> resize_on(Check& check, const ResizeCpuArgs& args) {
  if (check.gpu()) {
    return image_on_gpu(*check.gpu(), args, ResizeArgs{"resize", {}, {}, args.shape},
                        kernels::resize);
  }
  resize_cpu(check.pool(), args);
  return {};
}

Result<void> pad_on(Check& check, const PadCpuArgs& args) {
  if (check.gpu()) {
    return image_on_gpu(*check.gpu(), args, PadArgs{"pad", {}, {}, args.shape}, kernels::pad);
  }
  pad_cpu(check.pool(), args);
  return {};
}

Result<void> resize(Check& check, const ResizeShape& shape) {
  if (!check.wanted("resize", name(shape.how))) return {};
  const ImageShape& s = shape.image;
  const auto x = normal(s.x_elements(), 53);
  std::vector<float> y(static_cast<size_t>(s.y_elements())), expected = y;
  PUNA_TRY(resize_on(check, {x.data(), y.data(), shape}));
  resize_ref({x.data(), expected.data(), shape});
  return check.record("resize", name(shape.how),
                      fmt::format("{}x{}x{}x{} to {}x{}{}", s.n_outer, s.height, s.width, s.n_inner,
                                  s.out_h, s.out_w, shape.align_corners ? ", corners" : ""),
                      nmse(y, expected), kF32Limit);
}

Result<void> pad(Check& check, const PadShape& shape) {
  if (!check.wanted("pad", name(shape.how))) return {};
  const ImageShape& s = shape.image;
  const auto x = normal(s.x_elements(), 54);
  std::vector<float> y(static_cast<size_t>(s.y_elements())), expected = y;
  PUNA_TRY(pad_on(check, {x.data(), y.data(), shape}));
  pad_ref({x.data(), expected.data(), shape});
  return check.record("pad", name(shape.how),
                      fmt::format("{}x{}x{}x{} to {}x{}", s.n_outer, s.height, s.width, s.n_inner,
                                  s.out_h, s.out_w),
                      different(y, expected), 0);
}

}  // namespace

Result<void> check_image(Check& check) {
  for (const Resize how : {Resize::kNearest, Resize::kLinear, Resize::kCubic}) {
    for (const bool align : {false, true}) {
      PUNA_TRY(resize(check, {{3, 7, 5, 1, 16, 13}, how, align}));
      PUNA_TRY(resize(check, {{2, 24, 24, 8, 16, 40}, how, align}));
      PUNA_TRY(resize(check, {{1, 1, 9, 5, 1, 4}, how, align}));
    }
  }
  for (const Pad how : {Pad::kValue, Pad::kEdge, Pad::kReflect, Pad::kWrap}) {
    PUNA_TRY(pad(check, {{3, 7, 5, 1, 12, 11}, 3, 2, how, -1.5f}));
    PUNA_TRY(pad(check, {{2, 6, 4, 8, 7, 8}, 0, 3, how, 0.0f}));
  }
  return {};
}

}  // namespace puna::kernels
