#include "media/gemma4_mel.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <numbers>
#include <span>

namespace puna::media {

namespace {

constexpr size_t kFrame = 320;    // samples, 20 ms
constexpr size_t kHop = 160;      // samples, 10 ms
constexpr size_t kBefore = 160;   // zeros before the first sample: half a frame
constexpr size_t kFourier = 512;  // values: a frame, and zeros
constexpr size_t kFrequencies = kFourier / 2 + 1;
constexpr double kMaxHz = 8000;
constexpr double kFloor = 1e-3;  // is added to what is heard

using Complex = std::complex<double>;

// The Fourier transform of kFourier values, in place: halves that are combined, after the values
// are put in the order of their numbers' bits read backwards.
class Fourier {
 public:
  Fourier() {
    for (size_t i = 0; i < kFourier; ++i) {
      turns_[i] = std::polar(1.0, -2 * std::numbers::pi * static_cast<double>(i) / kFourier);
      size_t from = 0;
      for (size_t bit = 1; bit < kFourier; bit *= 2) from = from * 2 + (i & bit ? 1 : 0);
      order_[i] = from;
    }
  }

  void run(std::span<const double, kFourier> in, std::span<Complex, kFourier> out) const {
    for (size_t i = 0; i < kFourier; ++i) out[i] = in[order_[i]];
    for (size_t half = 1; half < kFourier; half *= 2) {
      for (size_t first = 0; first < kFourier; first += 2 * half) {
        for (size_t i = 0; i < half; ++i) {
          const Complex a = out[first + i];
          const Complex b = out[first + half + i] * turns_[i * (kFourier / 2 / half)];
          out[first + i] = a + b;
          out[first + half + i] = a - b;
        }
      }
    }
  }

 private:
  std::array<Complex, kFourier> turns_;
  std::array<size_t, kFourier> order_;
};

// HTK's scale (O'Shaughnessy 1987).
double mel_of(double hz) { return 2595 * std::log10(1 + hz / 700); }
double hz_of(double mel) { return 700 * (std::pow(10, mel / 2595) - 1); }

// Triangles over frequencies whose top is 1; those that fall between two are empty.
struct Bin {
  size_t first = 0;  // frequency
  std::vector<double> weights;
};

std::vector<Bin> mel_bins(uint32_t n_bins) {
  const auto corner = [&](uint32_t i) { return hz_of(mel_of(kMaxHz) * i / (n_bins + 1)); };
  std::vector<Bin> bins(n_bins);
  for (uint32_t i = 0; i < n_bins; ++i) {
    const double low = corner(i), middle = corner(i + 1), high = corner(i + 2);
    for (size_t f = 0; f < kFrequencies; ++f) {
      const double hz = static_cast<double>(f) * kSampleRate / kFourier;
      const double weight = std::min((hz - low) / (middle - low), (high - hz) / (high - middle));
      if (weight <= 0) continue;
      if (bins[i].weights.empty()) bins[i].first = f;
      bins[i].weights.push_back(weight);
    }
  }
  return bins;
}

// Frames all of whose samples, and one more, are before the end.
size_t count_frames(size_t n_samples) {
  constexpr size_t kNeeded = kFrame + 1 - kBefore;
  return n_samples < kNeeded ? 0 : (n_samples - kNeeded) / kHop + 1;
}

}  // namespace

std::vector<MelWindow> gemma4_mel(const Sound& sound, uint32_t n_bins) {
  constexpr size_t kWindowSamples = size_t{kMelWindowSeconds} * kSampleRate;
  const Fourier fourier;
  const std::vector<Bin> bins = mel_bins(n_bins);
  std::array<double, kFrame> hann;
  for (size_t i = 0; i < kFrame; ++i)
    hann[i] = 0.5 - 0.5 * std::cos(2 * std::numbers::pi * static_cast<double>(i) / kFrame);
  std::vector<MelWindow> windows;
  std::array<double, kFourier> values;
  std::array<Complex, kFourier> spectrum;
  std::array<double, kFrequencies> heard;
  for (size_t start = 0; start < sound.samples.size(); start += kWindowSamples) {
    const auto rest = std::span(sound.samples).subspan(start);
    const auto samples = rest.first(std::min(rest.size(), kWindowSamples));
    MelWindow& window = windows.emplace_back();
    window.n_bins = n_bins;
    window.n_frames = window.n_sounding = static_cast<uint32_t>(count_frames(samples.size()));
    window.values.resize(size_t{n_bins} * window.n_frames);
    for (size_t frame = 0; frame < window.n_frames; ++frame) {
      values.fill(0);
      for (size_t i = 0; i < kFrame; ++i) {
        const size_t at = frame * kHop + i;
        if (at >= kBefore) values[i] = hann[i] * samples[at - kBefore];
      }
      fourier.run(values, spectrum);
      for (size_t f = 0; f < kFrequencies; ++f) heard[f] = std::abs(spectrum[f]);
      for (size_t b = 0; b < n_bins; ++b) {
        double sum = kFloor;
        for (size_t i = 0; i < bins[b].weights.size(); ++i)
          sum += bins[b].weights[i] * heard[bins[b].first + i];
        window.values[b * window.n_frames + frame] = static_cast<float>(std::log(sum));
      }
    }
  }
  return windows;
}

}  // namespace puna::media
