// Voxtral's encoder (Liu et al. 2025): Whisper's over windows of 30 seconds, of whose rows four
// become one for an MLP.

#include "models/audio/whisper.h"
#include "models/vision/arrange.h"

namespace puna::models {

base::Result<void> read_voxtral_encoder(const formats::ModelFile& file, EncoderConfig& c) {
  PUNA_TRY(const uint64_t stack, file.get_uint("clip.audio.projector.stack_factor"));
  PUNA_TRY(c.sound.stack, bounded("clip.audio.projector.stack_factor", stack, 64));
  return {};
}

base::Result<plan::Graph> build_voxtral_encoder(const formats::ModelFile& file,
                                                const EncoderConfig& c) {
  plan::Builder b(file, c.n_heads);
  plan::Value x = whisper_rows(b, c).x;
  x = b.merge(encoder_norm(b, x, "a.post_ln.weight", c.eps), c.sound.stack);
  return b.finish_embeddings(gelu_mlp(b, "mm.a.mlp.1.weight", "mm.a.mlp.2.weight", x));
}

}  // namespace puna::models
