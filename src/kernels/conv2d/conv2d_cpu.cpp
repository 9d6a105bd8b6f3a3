// Convolution of images on the CPU. Outputs of a row of the image are made together, so that the
// taps' bounds are found once for each and the inner loops run over neighbours.
#include <algorithm>
#include <functional>

#include "kernels/conv2d/conv2d.h"

namespace puna::kernels {
namespace {

// Where the tap at `tap` of an output falls: start + tap * dilation, inside when below n (negative
// ones wrap to large numbers).
struct Axis {
  uint32_t start, dilation, n;
  bool inside(uint32_t tap) const { return start + tap * dilation < n; }
  uint32_t at(uint32_t tap) const { return start + tap * dilation; }
};
Axis row_axis(const Conv2dShape& s, uint32_t i) {
  return {i * s.stride_h - s.pad_h, s.dilation_h, s.height};
}
Axis column_axis(const Conv2dShape& s, uint32_t j) {
  return {j * s.stride_w - s.pad_w, s.dilation_w, s.width};
}

// One row of im2col.
void im2col_row(const Conv2dCpuArgs& args, uint32_t row, float* y) {
  const Conv2dShape& s = args.shape;
  const uint32_t image = row / (s.out_h() * s.out_w());
  const Axis rows = row_axis(s, row / s.out_w() % s.out_h());
  const Axis columns = column_axis(s, row % s.out_w());
  const size_t step = s.layout == ImageLayout::kPlanes ? 1 : s.n_channels;
  for (uint32_t c = 0; c < s.n_channels; ++c) {
    for (uint32_t p = 0; p < s.kernel_h; ++p, y += s.kernel_w) {
      if (!rows.inside(p)) {
        std::fill_n(y, s.kernel_w, 0.0f);
        continue;
      }
      const float* line = args.x + s.x_at(image, c, rows.at(p), 0);
      for (uint32_t q = 0; q < s.kernel_w; ++q)
        y[q] = columns.inside(q) ? line[columns.at(q) * step] : 0.0f;
    }
  }
}

// y[j * step] += w * x at the outputs j of a line that the tap q of a line of x reaches.
void add_tap(const Conv2dShape& s, const float* line, float w, uint32_t q, float* y, size_t step) {
  for (uint32_t j = 0; j < s.out_w(); ++j) {
    const Axis columns = column_axis(s, j);
    if (columns.inside(q)) y[j * step] += w * line[columns.at(q) * step];
  }
}

// The outputs of one line of a channel.
void depthwise_line(const Conv2dCpuArgs& args, uint32_t image, uint32_t c, uint32_t i) {
  const Conv2dShape& s = args.shape;
  const size_t step = s.layout == ImageLayout::kPlanes ? 1 : s.n_channels;
  float* y = args.y + s.y_at(image, c, i, 0);
  for (uint32_t j = 0; j < s.out_w(); ++j) y[j * step] = args.bias ? args.bias[c] : 0.0f;
  const Axis rows = row_axis(s, i);
  for (uint32_t p = 0; p < s.kernel_h; ++p) {
    if (!rows.inside(p)) continue;
    const float* line = args.x + s.x_at(image, c, rows.at(p), 0);
    const float* w = args.weights + (size_t{c} * s.kernel_h + p) * s.kernel_w;
    for (uint32_t q = 0; q < s.kernel_w; ++q) add_tap(s, line, w[q], q, y, step);
  }
}

}  // namespace

void im2col_cpu(base::ThreadPool& pool, const Conv2dCpuArgs& args) {
  const size_t columns = args.shape.columns();
  const auto rows = [&](uint32_t begin, uint32_t end) {
    for (uint32_t r = begin; r < end; ++r)
      im2col_row(args, args.first_row + r, args.y + r * columns);
  };
  pool.run(args.n_rows, static_cast<uint32_t>(std::max<size_t>(4096 / columns, 1)), std::ref(rows));
}

void depthwise_cpu(base::ThreadPool& pool, const Conv2dCpuArgs& args) {
  const Conv2dShape& s = args.shape;
  const uint32_t out_h = s.out_h();
  const auto lines = [&](uint32_t begin, uint32_t end) {
    for (uint32_t at = begin; at < end; ++at) {
      const uint32_t image = at / out_h, i = at % out_h;
      for (uint32_t c = 0; c < s.n_channels; ++c) depthwise_line(args, image, c, i);
    }
  };
  pool.run(s.n_images * out_h, 1, std::ref(lines));
}

}  // namespace puna::kernels
