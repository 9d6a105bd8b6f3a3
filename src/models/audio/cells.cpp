#include "models/audio/cells.h"

#include <fmt/format.h>

#include "kernels/common/step.h"

namespace puna::models {

using base::ErrorCode;
using base::Result;

namespace {

constexpr int64_t kSide = 3;  // of both convolutions
constexpr int64_t kStep = 2;

// What a convolution of this step, with one zero at either end, makes of n.
int64_t halved(int64_t n) { return (n + 1) / kStep; }

// The values that the first convolution reads for one of its cells; zeros for one that is outside.
void append_tap(const EncoderInput& sound, int64_t n_frames, int64_t row, int64_t column,
                std::vector<float>& out) {
  const size_t first = out.size();
  out.resize(first + kTapColumns, 0.0f);
  const int64_t n_bins = sound.height;
  if (row < 0 || row >= halved(n_frames) || column < 0 || column >= halved(n_bins)) return;
  for (int64_t i = 0; i < kSide * kSide; ++i) {
    const int64_t frame = kStep * row - 1 + i / kSide, bin = kStep * column - 1 + i % kSide;
    if (frame < 0 || frame >= n_frames || bin < 0 || bin >= n_bins) continue;
    out[first + static_cast<size_t>(i)] =
        sound.values[static_cast<size_t>(bin) * sound.width + static_cast<size_t>(frame)];
  }
}

}  // namespace

Result<uint32_t> count_cell_rows(const EncoderConfig& c, uint32_t n_frames) {
  const uint32_t most = kernels::kMaxStepRows / c.sound.stack * kCellFrames;
  if (n_frames == 0 || n_frames > most) {
    return base::fail(
        ErrorCode::kInvalidArgument,
        fmt::format("A sound has {} frames; this encoder reads 1 to {} at once.", n_frames, most));
  }
  return (n_frames + kCellFrames - 1) / kCellFrames * c.sound.stack;
}

Result<EncoderRows> cell_rows(const EncoderConfig& c, const EncoderInput& sound,
                              uint32_t n_frames) {
  EncoderRows out;
  PUNA_TRY(out.n_rows, count_cell_rows(c, n_frames));
  out.n_outputs = out.n_rows / c.sound.stack;
  out.cells = {1, out.n_outputs};
  out.inputs.reserve(size_t{out.n_rows} * (kCellTaps * kTapColumns + 1));
  for (int64_t tap = 0; tap < kSide * kSide; ++tap) {
    for (int64_t output = 0; output < out.n_outputs; ++output) {
      for (int64_t column = 0; column < c.sound.stack; ++column) {
        append_tap(sound, n_frames, kStep * output - 1 + tap / kSide,
                   kStep * column - 1 + tap % kSide, out.inputs);
      }
    }
  }
  for (uint32_t row = 0; row < out.n_rows; ++row)
    out.inputs.push_back(static_cast<float>(row / c.sound.stack));
  for (uint32_t i = 0; i < out.n_outputs; ++i) out.places.push_back(i);
  return out;
}

}  // namespace puna::models
