// Images in another size on the CPU, a line of outputs at a time. A line's taps along the height
// are found once, those along the width once for the image.
#include <algorithm>
#include <functional>
#include <vector>

#include "kernels/image/image.h"
#include "kernels/image/image_ref.h"

namespace puna::kernels {
namespace {

// The pixels that an output looks at along one axis, and how much of each; kNearest and kLinear use
// fewer.
struct Taps {
  uint32_t n = 0;
  uint32_t at[4] = {};
  float weight[4] = {};
};

Taps taps_of(const ResizeShape& s, uint32_t i, uint32_t n, uint32_t out) {
  Taps taps;
  if (s.how == Resize::kNearest) {
    taps.n = 1;
    taps.at[0] = static_cast<uint32_t>(uint64_t{i} * n / out);
    taps.weight[0] = 1;
    return taps;
  }
  const double place = resize_place(s, i, n, out);
  const auto whole = static_cast<int64_t>(std::floor(place));
  taps.n = s.how == Resize::kLinear ? 2 : 4;
  for (uint32_t k = 0; k < taps.n; ++k) {
    const int64_t pixel = whole + k - (taps.n / 2 - 1);
    taps.at[k] = static_cast<uint32_t>(std::clamp<int64_t>(pixel, 0, n - 1));
    taps.weight[k] = static_cast<float>(resize_weight(s.how, place - static_cast<double>(pixel)));
  }
  return taps;
}

// y[inner] of one output pixel; x starts at its outer index.
void resize_pixel_to(const ImageShape& s, const float* x, const Taps& down, const Taps& across,
                     float* y) {
  std::fill_n(y, s.n_inner, 0.0f);
  for (uint32_t p = 0; p < down.n; ++p) {
    for (uint32_t q = 0; q < across.n; ++q) {
      const float w = down.weight[p] * across.weight[q];
      const float* pixel = x + (size_t{down.at[p]} * s.width + across.at[q]) * s.n_inner;
      for (uint32_t c = 0; c < s.n_inner; ++c) y[c] += w * pixel[c];
    }
  }
}

// body(outer, i) for all output lines.
template <class Body>
void for_lines(base::ThreadPool& pool, const ImageShape& s, const Body& body) {
  const auto lines = [&](uint32_t begin, uint32_t end) {
    for (uint32_t line = begin; line < end; ++line) body(line / s.out_h, line % s.out_h);
  };
  pool.run(s.n_outer * s.out_h, std::max(2048 / (s.out_w * s.n_inner), 1u), std::ref(lines));
}

// One line of padding by `row` of x, or by the value when that is negative.
void pad_line(const PadShape& p, const float* x, int64_t row, float* y) {
  const ImageShape& s = p.image;
  for (uint32_t j = 0; j < s.out_w; ++j, y += s.n_inner) {
    const int64_t column = pad_index(p.how, int64_t{j} - p.left, s.width);
    if (row < 0 || column < 0) {
      std::fill_n(y, s.n_inner, p.value);
    } else {
      std::copy_n(x + (row * s.width + column) * s.n_inner, s.n_inner, y);
    }
  }
}

}  // namespace

void resize_cpu(base::ThreadPool& pool, const ResizeCpuArgs& args) {
  const ImageShape& s = args.shape.image;
  std::vector<Taps> across(s.out_w);
  for (uint32_t j = 0; j < s.out_w; ++j) across[j] = taps_of(args.shape, j, s.width, s.out_w);
  for_lines(pool, s, [&](size_t outer, uint32_t i) {
    const float* x = args.x + outer * s.height * s.width * s.n_inner;
    float* y = args.y + (outer * s.out_h + i) * s.out_w * s.n_inner;
    const Taps down = taps_of(args.shape, i, s.height, s.out_h);
    for (size_t j = 0; j < s.out_w; ++j) resize_pixel_to(s, x, down, across[j], y + j * s.n_inner);
  });
}

void pad_cpu(base::ThreadPool& pool, const PadCpuArgs& args) {
  const PadShape& p = args.shape;
  const ImageShape& s = p.image;
  for_lines(pool, s, [&](size_t outer, uint32_t i) {
    pad_line(p, args.x + outer * s.height * s.width * s.n_inner,
             pad_index(p.how, int64_t{i} - p.top, s.height),
             args.y + (outer * s.out_h + i) * s.out_w * s.n_inner);
  });
}

}  // namespace puna::kernels
