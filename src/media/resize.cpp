#include "media/resize.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <span>

#include "base/check.h"

namespace puna::media {

namespace {

// Weights are fixed point: of 32 bits a sum has 8 for the result and 2 for what a filter with
// negative lobes adds.
constexpr int kFractionBits = 32 - 8 - 2;

double bilinear(double x) {
  x = std::abs(x);
  return x < 1 ? 1 - x : 0;
}

double bicubic(double x) {
  constexpr double kA = -0.5;
  x = std::abs(x);
  if (x < 1) return ((kA + 2) * x - (kA + 3)) * x * x + 1;
  if (x < 2) return (((x - 5) * x + 8) * x - 4) * kA;
  return 0;
}

double sinc(double x) {
  if (x == 0) return 1;
  x *= std::numbers::pi;
  return std::sin(x) / x;
}

double lanczos(double x) {
  constexpr double kLobes = 3;
  return -kLobes <= x && x < kLobes ? sinc(x) * sinc(x / kLobes) : 0;
}

struct Kernel {
  double (*weight)(double);
  double support;
};

constexpr Kernel kKernels[] = {
    {bilinear, 1}, {bicubic, 2}, {lanczos, 3}};  // in the order of Filter

// What one pixel of the result is made of along an axis.
struct Taps {
  uint32_t first = 0;                // the first pixel of the source
  std::span<const int32_t> weights;  // of the pixels from there on
};

// The taps of all pixels along an axis.
class Axis {
 public:
  Axis(uint32_t in, uint32_t out, const Kernel& kernel) {
    const double scale = static_cast<double>(in) / out;
    const double stretch = std::max(scale, 1.0);
    const double support = kernel.support * stretch;
    taps_.resize(out);
    std::vector<size_t> ends(out);
    std::vector<double> weights;
    for (uint32_t i = 0; i < out; ++i) {
      const double center = (i + 0.5) * scale;
      const double inverse = 1 / stretch;
      // Both are rounded by cutting off what follows the point; below zero that is zero, too.
      const auto first = static_cast<uint32_t>(std::max(center - support + 0.5, 0.0));
      const auto end =
          static_cast<uint32_t>(std::min(center + support + 0.5, static_cast<double>(in)));
      weights.clear();
      double sum = 0;
      for (uint32_t x = first; x < end; ++x) {
        weights.push_back(kernel.weight((x - center + 0.5) * inverse));
        sum += weights.back();
      }
      for (const double weight : weights) {
        const double fixed = (sum != 0 ? weight / sum : weight) * (1 << kFractionBits);
        weights_.push_back(static_cast<int32_t>(fixed + (fixed < 0 ? -0.5 : 0.5)));
      }
      taps_[i].first = first;
      ends[i] = weights_.size();
    }
    size_t begin = 0;
    for (uint32_t i = 0; i < out; ++i) {
      taps_[i].weights = std::span(weights_).subspan(begin, ends[i] - begin);
      begin = ends[i];
    }
  }

  const std::vector<Taps>& taps() const { return taps_; }

 private:
  std::vector<Taps> taps_;
  std::vector<int32_t> weights_;
};

uint8_t rounded(int32_t sum) {
  return static_cast<uint8_t>(std::clamp(sum >> kFractionBits, 0, 255));
}

constexpr int32_t kHalf = 1 << (kFractionBits - 1);

std::vector<uint8_t> resize_rows(const std::vector<uint8_t>& in, uint32_t in_width, uint32_t height,
                                 const Axis& axis) {
  const size_t out_width = axis.taps().size();
  std::vector<uint8_t> out(out_width * height * 3);
  uint8_t* to = out.data();
  for (uint32_t y = 0; y < height; ++y) {
    const uint8_t* row = in.data() + size_t{y} * in_width * 3;
    for (const Taps& taps : axis.taps()) {
      int32_t red = kHalf;
      int32_t green = kHalf;
      int32_t blue = kHalf;
      const uint8_t* from = row + size_t{taps.first} * 3;
      for (const int32_t weight : taps.weights) {
        red += from[0] * weight;
        green += from[1] * weight;
        blue += from[2] * weight;
        from += 3;
      }
      *to++ = rounded(red);
      *to++ = rounded(green);
      *to++ = rounded(blue);
    }
  }
  return out;
}

std::vector<uint8_t> resize_columns(const std::vector<uint8_t>& in, uint32_t width,
                                    const Axis& axis) {
  const size_t row_bytes = size_t{width} * 3;
  std::vector<uint8_t> out(row_bytes * axis.taps().size());
  std::vector<int32_t> sums(row_bytes);
  uint8_t* to = out.data();
  for (const Taps& taps : axis.taps()) {
    std::ranges::fill(sums, kHalf);
    const uint8_t* from = in.data() + taps.first * row_bytes;
    for (const int32_t weight : taps.weights) {
      for (size_t i = 0; i < row_bytes; ++i) sums[i] += from[i] * weight;
      from += row_bytes;
    }
    for (size_t i = 0; i < row_bytes; ++i) to[i] = rounded(sums[i]);
    to += row_bytes;
  }
  return out;
}

Picture with_width(const Picture& picture, uint32_t width, const Kernel& kernel) {
  if (width == picture.width) return picture;
  return {
      width, picture.height,
      resize_rows(picture.rgb, picture.width, picture.height, Axis(picture.width, width, kernel))};
}

Picture with_height(const Picture& picture, uint32_t height, const Kernel& kernel) {
  if (height == picture.height) return picture;
  return {picture.width, height,
          resize_columns(picture.rgb, picture.width, Axis(picture.height, height, kernel))};
}

}  // namespace

Picture resize(const Picture& picture, uint32_t width, uint32_t height, Filter filter) {
  PUNA_CHECK(picture.width > 0 && picture.height > 0 && width > 0 && height > 0);
  PUNA_CHECK(picture.rgb.size() == size_t{picture.width} * picture.height * 3);
  const Kernel& kernel = kKernels[static_cast<size_t>(filter)];
  // The order shows, as bytes are rounded between the two.
  const int64_t less_height = int64_t{picture.height} - height;
  const int64_t less_width = int64_t{picture.width} - width;
  if (less_height > 0 && less_height > less_width * 2) {
    return with_width(with_height(picture, height, kernel), width, kernel);
  }
  return with_height(with_width(picture, width, kernel), height, kernel);
}

}  // namespace puna::media
