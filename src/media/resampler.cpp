#include "media/resampler.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <numeric>

#include "base/check.h"

namespace puna::media {

namespace {

constexpr double kPi = std::numbers::pi;

// A Kaiser window for 90 dB; with so many zero crossings on each side it falls within 0.087 of the
// lower half rate, in the middle of which the cutoff lies.
constexpr double kZeroCrossings = 64;
constexpr double kBeta = 8.96;
constexpr double kCutoff = 1 - 0.087 / 2;

// The modified Bessel function of the first kind, of order 0, by its power series. The library's
// own is not there in every standard library.
double bessel(double x) {
  double sum = 1;
  double term = 1;
  for (int k = 1; term > sum * 1e-17; ++k) {
    term *= x / (2 * k) * (x / (2 * k));
    sum += term;
  }
  return sum;
}

// Places of the low pass between two zero crossings. What lies between them is put on a line,
// which is off by 1.2e-6 at most, 118 dB below the sound.
constexpr double kPlaces = 1024;

// The low pass from its middle to kZeroCrossings, at the lower of the two rates.
const std::vector<double>& low_pass() {
  static const std::vector<double> kTable = [] {
    std::vector<double> values(static_cast<size_t>(kZeroCrossings * kPlaces) + 2);
    for (size_t i = 0; i < values.size(); ++i) {
      const double x = static_cast<double>(i) / kPlaces;
      const double side = std::min(x / kZeroCrossings, 1.0);
      const double window = bessel(kBeta * std::sqrt(1 - side * side)) / bessel(kBeta);
      const double angle = kPi * x * kCutoff;
      values[i] = window * (angle == 0 ? 1 : std::sin(angle) / angle);
    }
    return values;
  }();
  return kTable;
}

double low_pass_at(const std::vector<double>& places, double x) {
  x = std::abs(x) * kPlaces;
  const auto place = static_cast<size_t>(x);
  if (place + 1 >= places.size()) return 0;
  return std::lerp(places[place], places[place + 1], x - static_cast<double>(place));
}

// Inputs that one output is made of, to one side.
size_t half_of_taps(uint32_t rate_in, uint32_t rate_out) {
  const double shrink = std::max(1.0, static_cast<double>(rate_in) / rate_out);
  return static_cast<size_t>(std::ceil(kZeroCrossings * shrink));
}

// Sums in eight parts, which the compiler can keep in one register.
float product(const float* a, const float* b, size_t n) {
  constexpr size_t kParts = 8;
  std::array<float, kParts> sums{};
  size_t i = 0;
  for (; i + kParts <= n; i += kParts) {
    for (size_t k = 0; k < kParts; ++k) sums[k] += a[i + k] * b[i + k];
  }
  for (size_t k = 0; i < n; ++i, ++k) sums[k] += a[i] * b[i];
  float sum = 0;
  for (const float part : sums) sum += part;
  return sum;
}

}  // namespace

bool Resampler::can(uint32_t rate_in, uint32_t rate_out) {
  constexpr uint32_t kMaxRate = 384000;
  constexpr uint64_t kMaxTaps = 1 << 23;  // 32 MiB
  if (rate_in == 0 || rate_in > kMaxRate || rate_out == 0 || rate_out > kMaxRate) return false;
  const uint64_t n_places = rate_out / std::gcd(rate_in, rate_out);
  return rate_in == rate_out || n_places * 2 * half_of_taps(rate_in, rate_out) <= kMaxTaps;
}

Resampler::Resampler(uint32_t rate_in, uint32_t rate_out) {
  PUNA_CHECK(can(rate_in, rate_out));
  if (rate_in == rate_out) return;
  const uint32_t common = std::gcd(rate_in, rate_out);
  step_in_ = rate_in / common;
  step_out_ = rate_out / common;
  const double shrink = std::max(1.0, static_cast<double>(rate_in) / rate_out);
  const size_t half = half_of_taps(rate_in, rate_out);
  n_taps_ = half * 2;
  const auto n_places = static_cast<size_t>(step_out_);
  taps_.resize(n_places * n_taps_);
  const std::vector<double>& places = low_pass();
  std::vector<double> taps(n_taps_);
  for (size_t i = 0; i < n_places; ++i) {
    // Tap half - 1 is the input at the place or before it.
    const double at =
        static_cast<double>(i) / static_cast<double>(n_places) + static_cast<double>(half) - 1;
    double sum = 0;
    for (size_t tap = 0; tap < n_taps_; ++tap) {
      taps[tap] = low_pass_at(places, (static_cast<double>(tap) - at) / shrink);
      sum += taps[tap];
    }
    // What does not swing passes as it is at every place.
    for (size_t tap = 0; tap < n_taps_; ++tap) {
      taps_[i * n_taps_ + tap] = static_cast<float>(taps[tap] / sum);
    }
  }
  held_from_ = 1 - static_cast<int64_t>(half);
  held_.assign(half - 1, 0.0F);
}

void Resampler::put(std::span<const float> samples, std::vector<float>& out) {
  n_in_ += samples.size();
  if (taps_.empty()) {
    out.insert(out.end(), samples.begin(), samples.end());
    n_out_ += samples.size();
    return;
  }
  held_.insert(held_.end(), samples.begin(), samples.end());
  const auto end = static_cast<int64_t>(held_.size()) + held_from_;
  // The last output all of whose taps are there.
  const int64_t last_place = end - static_cast<int64_t>(n_taps_ / 2) - 1;
  if (last_place < 0) return;
  const uint64_t n_ready =
      (static_cast<uint64_t>(last_place + 1) * step_out_ + step_in_ - 1) / step_in_;
  write(n_ready, out);
}

void Resampler::finish(std::vector<float>& out) {
  if (taps_.empty()) return;
  held_.insert(held_.end(), n_taps_, 0.0F);
  write((n_in_ * step_out_ + step_in_ - 1) / step_in_, out);
}

void Resampler::write(uint64_t n_out, std::vector<float>& out) {
  for (; n_out_ < n_out; ++n_out_) {
    const uint64_t place = n_out_ * step_in_;
    const auto first =
        static_cast<int64_t>(place / step_out_) - static_cast<int64_t>(n_taps_ / 2) + 1;
    out.push_back(product(held_.data() + static_cast<ptrdiff_t>(first - held_from_),
                          taps_.data() + static_cast<size_t>(place % step_out_) * n_taps_,
                          n_taps_));
  }
  // What no later output needs goes.
  const auto next =
      static_cast<int64_t>(n_out_ * step_in_ / step_out_) - static_cast<int64_t>(n_taps_ / 2) + 1;
  const int64_t n_done = std::min<int64_t>(next - held_from_, static_cast<int64_t>(held_.size()));
  held_.erase(held_.begin(), held_.begin() + static_cast<ptrdiff_t>(n_done));
  held_from_ += n_done;
}

}  // namespace puna::media
