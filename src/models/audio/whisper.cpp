#include "models/audio/whisper.h"

#include <vector>

#include "models/vision/arrange.h"

namespace puna::models {

// The convolutions as matrices. The first has its bias in a column of its own, so that rows of
// zeros (the edge of what the second one reads) stay zeros; the taps of the second stand one after
// the other.
base::Result<void> arrange_whisper_encoder(formats::ModelFile& file, const EncoderConfig& c) {
  PUNA_TRY(
      append_bias_column(file, "a.conv1d.1.weight", "a.conv1d.1.bias", c.hidden, 3 * c.n_bins));
  PUNA_TRY(reshape_tensor(file, "a.conv1d.2.bias", {c.hidden}));
  return view_tensor(file, "a.conv1d.2.weight", {c.hidden, 3 * c.hidden}, Moves::kElements,
                     [&](formats::Strided& view) { view.swap(1, 2); });
}

WhisperRows whisper_rows(plan::Builder& b, const EncoderConfig& c) {
  // The second convolution takes each second frame and its neighbours: a row has what the first
  // makes of all three.
  const uint32_t n = 3 * c.n_bins + kBiasColumns;
  std::vector<plan::Builder::Product> frames;
  for (const char* frame : {"before", "frame", "after"})
    frames.push_back({"a.conv1d.1.unfolded.weight", b.input(frame, n)});
  plan::Value x = b.beside(frames, kernels::Activation::kGeluErf);
  x = b.activated("a.conv1d.2.weight", x, kernels::Activation::kGeluErf);
  x = b.add(x, b.input("added", c.hidden));
  EncoderBlock block;
  if (c.sound.sounding_only) block.spans = b.input("spans", 2);
  WhisperRows out;
  if (c.sound.partly) out.sounding = b.input("sounding", c.hidden);
  for (uint32_t l = 0; l < c.n_layers; ++l) x = encoder_block(b, c, l, x, block);
  out.x = x;
  return out;
}

}  // namespace puna::models
