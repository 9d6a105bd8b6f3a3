// The encoders of sounds of Qwen2-Audio (Chu et al. 2024) and Qwen2.5-Omni (Xu et al. 2025):
// Whisper's over the frames of the sound alone, two rows averaged to one, a norm and a matrix.
// Omni's takes two seconds for themselves.

#include "models/audio/whisper.h"

namespace puna::models {

base::Result<void> read_qwen2_audio_encoder(const formats::ModelFile&, EncoderConfig& c) {
  c.sound.stack = 2;
  c.sound.sounding_only = true;
  return {};
}

base::Result<void> read_qwen2_omni_encoder(const formats::ModelFile&, EncoderConfig& c) {
  // No key says so. The feature extractor has five minutes, the encoder two windows of a second.
  c.sound.stack = 2;
  c.sound.sounding_only = true;
  c.sound.padded_seconds = 300;
  c.sound.chunk_frames = 200;
  return {};
}

base::Result<plan::Graph> build_qwen2_audio_encoder(const formats::ModelFile& file,
                                                    const EncoderConfig& c) {
  plan::Builder b(file, c.n_heads);
  const plan::Value x = b.pool(whisper_rows(b, c).x, c.sound.stack);
  return b.finish_embeddings(
      b.matmul({"mm.a.fc.weight"}, encoder_norm(b, x, "a.post_ln.weight", c.eps)));
}

}  // namespace puna::models
