// Voxtral's encoder of sounds, whose layers are Whisper's.
#include <fmt/format.h>

#include "formats/hf/encoders/family.h"

namespace puna::formats::hf {

using base::ErrorCode;
using base::Result;

namespace {

constexpr Rename kWhisperLayer[] = {
    {"self_attn_layer_norm", "ln1"},
    {"final_layer_norm", "ln2"},
    {"fc1", "ffn_up"},
    {"fc2", "ffn_down"},
    {"self_attn.q_proj", "attn_q"},
    {"self_attn.k_proj", "attn_k"},
    {"self_attn.v_proj", "attn_v"},
    {"self_attn.out_proj", "attn_out"},
};

constexpr Rename kWhisperOthers[] = {
    {"audio_tower.conv1", "a.conv1d.1"},
    {"audio_tower.conv2", "a.conv1d.2"},
    {"audio_tower.embed_positions", "a.position_embd"},
    {"audio_tower.layer_norm", "a.post_ln"},
    {"multi_modal_projector.linear_1", "mm.a.mlp.1"},
    {"multi_modal_projector.linear_2", "mm.a.mlp.2"},
};

Result<void> complete_voxtral(EncoderWork& w) {
  PUNA_TRY(const uint64_t bins, w.part.count("num_mel_bins", 128));
  w.m.set("audio.num_mel_bins", bins);
  PUNA_TRY(const uint64_t joined, w.part.count("intermediate_size"));
  if (w.hidden == 0 || joined % w.hidden != 0) {
    return base::fail(
        ErrorCode::kCorrupt,
        fmt::format("The projector reads rows of {}, which are no whole number of the "
                    "encoder's {}.",
                    joined, w.hidden));
  }
  w.m.set("audio.projector.stack_factor", joined / w.hidden);
  return {};
}

}  // namespace

const EncoderFamily kVoxtralEncoder = {
    .kind = "voxtral",
    .sounds = true,
    .layer = "audio_tower.layers.{}.",
    .modules = kWhisperLayer,
    .others = kWhisperOthers,
    .eps = 1e-5,
    .complete = complete_voxtral,
};

}  // namespace puna::formats::hf
