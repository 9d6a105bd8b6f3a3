#include "media/mel.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <numbers>

#include "media/gemma4_mel.h"

namespace puna::media {

namespace {

constexpr uint32_t kWindow = 400;  // samples, 25 ms
constexpr uint32_t kHop = 160;     // samples, 10 ms
constexpr uint32_t kFrequencies = kWindow / 2 + 1;
constexpr uint32_t kMaxBins = 512;
constexpr double kMaxHz = 8000;

using Complex = std::complex<double>;

// The Fourier transform of kWindow values, split by the factors of 400 down to single values.
class Fourier {
 public:
  Fourier() {
    for (uint32_t i = 0; i < kWindow; ++i) {
      turns_[i] = std::polar(1.0, -2 * std::numbers::pi * i / kWindow);
    }
  }

  void run(const std::array<double, kWindow>& in, std::array<Complex, kWindow>& out) const {
    step(in.data(), 1, kWindow, out.data());
  }

 private:
  // Of every stride-th value from `in` on, n in all.
  void step(const double* in, uint32_t stride, uint32_t n, Complex* out) const {
    if (n == 1) {
      *out = *in;
      return;
    }
    const uint32_t radix = n % 4 == 0 ? 4 : 5;
    const uint32_t part = n / radix;
    for (uint32_t i = 0; i < radix; ++i) {
      step(in + size_t{i} * stride, stride * radix, part, out + size_t{i} * part);
    }
    std::array<Complex, 5> values;
    for (uint32_t k = 0; k < part; ++k) {
      for (uint32_t i = 0; i < radix; ++i) values[i] = out[i * part + k] * turns_[i * k * stride];
      for (uint32_t j = 0; j < radix; ++j) {
        Complex sum = values[0];
        for (uint32_t i = 1; i < radix; ++i) {
          sum += values[i] * turns_[i * j % radix * (kWindow / radix)];
        }
        out[j * part + k] = sum;
      }
    }
  }

  std::array<Complex, kWindow> turns_;
};

// Slaney's scale: even steps up to 1000 Hz, then 27 steps for each factor of 6.4.
constexpr double kHzPerMel = 200.0 / 3;
constexpr double kLogHz = 1000;
constexpr double kLogMel = kLogHz / kHzPerMel;
const double kLogStep = std::log(6.4) / 27;

double mel_of(double hz) {
  return hz < kLogHz ? hz / kHzPerMel : kLogMel + std::log(hz / kLogHz) / kLogStep;
}

double hz_of(double mel) {
  return mel < kLogMel ? mel * kHzPerMel : kLogHz * std::exp(kLogStep * (mel - kLogMel));
}

// A triangle over frequencies, of area 1 in Hz.
struct Bin {
  uint32_t first = 0;  // frequency
  std::vector<double> weights;
};

std::vector<Bin> mel_bins(uint32_t n_bins) {
  const double top = mel_of(kMaxHz);
  const auto corner = [&](uint32_t i) { return hz_of(top * i / (n_bins + 1)); };
  std::vector<Bin> bins(n_bins);
  for (uint32_t i = 0; i < n_bins; ++i) {
    const double low = corner(i);
    const double middle = corner(i + 1);
    const double high = corner(i + 2);
    for (uint32_t f = 0; f < kFrequencies; ++f) {
      const double hz = static_cast<double>(f) * kSampleRate / kWindow;
      const double weight = std::min((hz - low) / (middle - low), (high - hz) / (high - middle));
      if (weight <= 0) continue;
      if (bins[i].weights.empty()) bins[i].first = f;
      bins[i].weights.push_back(weight * 2 / (high - low));
    }
  }
  return bins;
}

size_t round_up(size_t n, size_t unit) { return (n + unit - 1) / unit * unit; }

// The sample at a place of the padded sound, mirrored at its ends without its first or last one.
double mirrored(const std::vector<float>& samples, int64_t at, int64_t n_padded) {
  if (at < 0) at = -at;
  if (at >= n_padded) at = 2 * (n_padded - 1) - at;
  return at < static_cast<int64_t>(samples.size()) ? samples[static_cast<size_t>(at)] : 0;
}

}  // namespace

base::Result<std::vector<MelWindow>> log_mel(const Sound& sound, const MelRecipe& recipe) {
  const uint32_t n_bins = recipe.n_bins;
  if (sound.samples.empty()) {
    return base::fail(base::ErrorCode::kInvalidArgument, "The sound has no samples.");
  }
  if (n_bins == 0 || n_bins > kMaxBins) {
    return base::fail(base::ErrorCode::kInvalidArgument,
                      fmt::format("A spectrogram of {} mel bins is asked for, but it has 1 to {}.",
                                  n_bins, kMaxBins));
  }
  if (recipe.kind == MelKind::kGemma4) return gemma4_mel(sound, n_bins);
  constexpr uint32_t kMaxPaddedSeconds = 3600;
  if (recipe.padded_seconds > kMaxPaddedSeconds) {
    return base::fail(base::ErrorCode::kInvalidArgument,
                      fmt::format("Sounds are to be padded to {} seconds, but {} is the most.",
                                  recipe.padded_seconds, kMaxPaddedSeconds));
  }
  const size_t unit =
      recipe.padded_seconds > 0 ? size_t{recipe.padded_seconds} * kSampleRate : kHop;
  const auto n_padded = static_cast<int64_t>(round_up(sound.samples.size(), unit));
  const size_t n_sounding = round_up(sound.samples.size(), kHop) / kHop;
  const size_t n_frames =
      recipe.padded_seconds == kMelWindowSeconds ? round_up(n_sounding, kMelFrames) : n_sounding;
  const size_t n_windows = round_up(n_frames, kMelFrames) / kMelFrames;
  const Fourier fourier;
  const std::vector<Bin> bins = mel_bins(n_bins);
  std::array<double, kWindow> hann;
  for (uint32_t i = 0; i < kWindow; ++i) {
    hann[i] = 0.5 - 0.5 * std::cos(2 * std::numbers::pi * i / kWindow);
  }

  std::vector<MelWindow> windows(n_windows);
  const auto of_window = [](size_t n, size_t w) {
    return static_cast<uint32_t>(std::min<size_t>(n - w * kMelFrames, kMelFrames));
  };
  for (size_t w = 0; w < n_windows; ++w) {
    windows[w].n_bins = n_bins;
    windows[w].n_frames = of_window(n_frames, w);
    windows[w].n_sounding = of_window(n_sounding, w);
    windows[w].values.resize(size_t{n_bins} * windows[w].n_frames);
  }
  // Frames behind the last one may have some of the sound's end, and be the loudest.
  const size_t n_heard =
      std::min(n_frames + kWindow / 2 / kHop + 1, static_cast<size_t>(n_padded) / kHop);
  constexpr double kSilence = -10;  // the logarithm of the least power
  double loudest = kSilence;
  std::array<double, kWindow> samples;
  std::array<Complex, kWindow> spectrum;
  std::array<double, kFrequencies> power;
  for (size_t frame = 0; frame < n_heard; ++frame) {
    const auto middle = static_cast<int64_t>(frame * kHop);
    for (uint32_t i = 0; i < kWindow; ++i)
      samples[i] = hann[i] * mirrored(sound.samples, middle + i - kWindow / 2, n_padded);
    fourier.run(samples, spectrum);
    for (uint32_t f = 0; f < kFrequencies; ++f) power[f] = std::norm(spectrum[f]);
    for (uint32_t b = 0; b < n_bins; ++b) {
      double sum = 0;
      for (size_t i = 0; i < bins[b].weights.size(); ++i)
        sum += bins[b].weights[i] * power[bins[b].first + i];
      const double value = std::max(std::log10(sum), kSilence);
      loudest = std::max(loudest, value);
      if (frame >= n_frames) continue;
      MelWindow& window = windows[frame / kMelFrames];
      window.values[size_t{b} * window.n_frames + frame % kMelFrames] = static_cast<float>(value);
    }
  }
  constexpr float kRange = 8;
  const float floor = static_cast<float>(loudest) - kRange;
  for (MelWindow& window : windows) {
    for (float& value : window.values) value = (std::max(value, floor) + 4) / 4;
  }
  return windows;
}

}  // namespace puna::media
