// Rows of encoders that halve frames and bins of a sound twice by convolutions of 3 x 3 before
// their first block (SoundRecipe::cells): a row is a cell of four frames by four bins.
#pragma once

#include <cstdint>

#include "models/vision/encoder.h"

namespace puna::models {

constexpr uint32_t kCellFrames = 4;  // and bins
constexpr uint32_t kCellTaps = 9;    // cells of the first convolution that the second one reads
// Values of one of these: the frames and bins that the first convolution reads, and zeros up to a
// whole vector.
constexpr uint32_t kTapColumns = 12;

// Rows that one output is made of stand together, by bin. Errors: kInvalidArgument for no frames
// and for more than a step has rows for.
base::Result<uint32_t> count_cell_rows(const EncoderConfig& config, uint32_t n_frames);
// Inputs are each tap's values in turn, [n_rows, kTapColumns], then of each row how many outputs
// come before its own, as a number. Errors: as count_cell_rows().
base::Result<EncoderRows> cell_rows(const EncoderConfig& config, const EncoderInput& sound,
                                    uint32_t n_frames);

}  // namespace puna::models
