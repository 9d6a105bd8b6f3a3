// Samples at another rate, by a windowed sinc: what lies above both halves of the rates is taken
// away by 90 dB, what lies below nine tenths of them is left alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace puna::media {

// Takes samples piece by piece. The n-th sample that comes out is the sound at n / rate_out
// seconds, so there are ceil(n_in * rate_out / rate_in) of them; before and after is silence.
class Resampler {
 public:
  // Whether it is done: both rates from 1 to 384,000 Hz, and the places between two inputs that
  // outputs fall on, up to rate_out many where the rates have no common factor, not too many.
  static bool can(uint32_t rate_in, uint32_t rate_out);

  // Of rates that it can.
  Resampler(uint32_t rate_in, uint32_t rate_out);

  // Appends to `out` what can be said with these samples.
  void put(std::span<const float> samples, std::vector<float>& out);

  // Appends the rest, once there are no more samples.
  void finish(std::vector<float>& out);

 private:
  // Up to output number n_out.
  void write(uint64_t n_out, std::vector<float>& out);

  // rate_out / rate_in, without common factors: an output lies `step_in_ / step_out_` inputs after
  // the one before, at one of step_out_ places between two inputs.
  uint64_t step_in_ = 1;
  uint64_t step_out_ = 1;
  size_t n_taps_ = 0;        // of each place; even, half of them at or before it
  std::vector<float> taps_;  // [step_out_, n_taps_]; empty where the rates are the same
  std::vector<float> held_;  // inputs from number held_from_ on; those before 0 are silence
  int64_t held_from_ = 0;
  uint64_t n_in_ = 0;
  uint64_t n_out_ = 0;
};

}  // namespace puna::media
