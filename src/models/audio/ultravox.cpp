// Ultravox's encoder (Fixie, 2024; versions 0.5 and later): Whisper's over as many frames as the
// sound has, of whose rows eight become one (zeros where the sound has ended) for a gated product
// between RMS norms. Source: fixie-ai/ultravox, ultravox_model.py and ultravox_processing.py.

#include "models/audio/whisper.h"
#include "models/vision/arrange.h"

namespace puna::models {

base::Result<void> read_ultravox_encoder(const formats::ModelFile& file, EncoderConfig& c) {
  PUNA_TRY(const uint64_t stack, file.get_uint("clip.audio.projector.stack_factor"));
  PUNA_TRY(c.sound.stack, bounded("clip.audio.projector.stack_factor", stack, 64));
  c.sound.padded_seconds = 0;
  c.sound.sounding_only = true;
  c.sound.partly = true;
  return {};
}

// The gate is the second half of the first matrix, where Builder wants it first.
base::Result<void> arrange_ultravox_encoder(formats::ModelFile& file, const EncoderConfig& c) {
  PUNA_TRY(arrange_whisper_encoder(file, c));
  return swap_row_halves(file, "mm.a.mlp.1.weight");
}

base::Result<plan::Graph> build_ultravox_encoder(const formats::ModelFile& file,
                                                 const EncoderConfig& c) {
  constexpr float kNormEps = 1e-6f;  // of the projector's norms
  plan::Builder b(file, c.n_heads);
  const WhisperRows rows = whisper_rows(b, c);
  plan::Value x = encoder_norm(b, rows.x, "a.post_ln.weight", c.eps);
  x = b.merge(b.multiply(x, *rows.sounding, 0), c.sound.stack);
  x = b.rms_norm(x, "mm.a.norm_pre.weight", kNormEps);
  x = b.gated_halves("mm.a.mlp.1.weight", x, kernels::Activation::kSilu);
  x = b.rms_norm(x, "mm.a.norm_mid.weight", kNormEps);
  return b.finish_embeddings(b.matmul({"mm.a.mlp.2.weight"}, x));
}

}  // namespace puna::models
