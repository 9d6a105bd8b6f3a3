// Voxtral's encoder (Liu et al. 2025): Whisper's (Radford et al. 2022) over windows of 30 seconds,
// two convolutions and pre-norm blocks, of whose rows four become one for an MLP.

#include <fmt/format.h>

#include "models/vision/arrange.h"
#include "models/vision/blocks.h"

namespace puna::models {

base::Result<void> read_voxtral_encoder(const formats::ModelFile& file, EncoderConfig& c) {
  PUNA_TRY(const uint64_t stack, file.get_uint("clip.audio.projector.stack_factor"));
  PUNA_TRY(c.stack, bounded("clip.audio.projector.stack_factor", stack, 64));
  c.activation = kernels::Activation::kGeluErf;
  return {};
}

// The convolutions as matrices. The first has its bias in a column of its own, so that rows of
// zeros (the edge of what the second one reads) stay zeros; the taps of the second stand one after
// the other.
base::Result<void> arrange_voxtral_encoder(formats::ModelFile& file, const EncoderConfig& c) {
  PUNA_TRY(
      append_bias_column(file, "a.conv1d.1.weight", "a.conv1d.1.bias", c.hidden, 3 * c.n_bins));
  PUNA_TRY(reshape_tensor(file, "a.conv1d.2.bias", {c.hidden}));
  return view_tensor(file, "a.conv1d.2.weight", {c.hidden, 3 * c.hidden}, Moves::kElements,
                     [&](formats::Strided& view) { view.swap(1, 2); });
}

base::Result<plan::Graph> build_voxtral_encoder(const formats::ModelFile& file,
                                                const EncoderConfig& c) {
  plan::Builder b(file, c.n_heads);
  // The second convolution takes each second frame and its neighbours: a row has what the first
  // makes of all three.
  const uint32_t n = 3 * c.n_bins + kBiasColumns;
  std::vector<plan::Builder::Product> frames;
  for (const char* frame : {"before", "frame", "after"})
    frames.push_back({"a.conv1d.1.unfolded.weight", b.input(frame, n)});
  plan::Value x = b.beside(frames, kernels::Activation::kGeluErf);
  x = b.activated("a.conv1d.2.weight", x, kernels::Activation::kGeluErf);
  x = b.add(x, b.input("added", c.hidden));
  for (uint32_t l = 0; l < c.n_layers; ++l) x = encoder_block(b, c, l, x, {});
  x = b.merge(encoder_norm(b, x, "a.post_ln.weight", c.eps), c.stack);
  return b.finish_embeddings(gelu_mlp(b, "mm.a.mlp.1.weight", "mm.a.mlp.2.weight", x));
}

}  // namespace puna::models
