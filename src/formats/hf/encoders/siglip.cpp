// Encoders whose layers are named as SigLIP and CLIP name them: Gemma 3, Idefics 3 and SmolVLM,
// LLaVA.
#include <fmt/format.h>

#include <cmath>
#include <string>
#include <vector>

#include "formats/hf/encoders/family.h"

namespace puna::formats::hf {

using base::ErrorCode;
using base::Json;
using base::Result;

namespace {

constexpr Rename kSiglipLayer[] = {
    {"layer_norm1", "ln1"},         {"layer_norm2", "ln2"},
    {"mlp.fc1", "ffn_up"},          {"mlp.fc2", "ffn_down"},
    {"self_attn.q_proj", "attn_q"}, {"self_attn.k_proj", "attn_k"},
    {"self_attn.v_proj", "attn_v"}, {"self_attn.out_proj", "attn_out"},
};

constexpr Rename kGemma3Others[] = {
    {"vision_tower.embeddings.patch_embedding", "v.patch_embd"},
    {"vision_tower.embeddings.position_embedding", "v.position_embd"},
    {"vision_tower.post_layernorm", "v.post_ln"},
    {"multi_modal_projector.mm_soft_emb_norm", "mm.soft_emb_norm", How::kPlusOne},
};

constexpr Rename kIdefics3Others[] = {
    {"vision_tower.embeddings.patch_embedding", "v.patch_embd"},
    {"vision_tower.embeddings.position_embedding", "v.position_embd"},
    {"vision_tower.post_layernorm", "v.post_ln"},
    {"connector.modality_projection.proj", "mm.model.fc"},
};

constexpr Rename kLlavaOthers[] = {
    {"vision_tower.embeddings.patch_embedding", "v.patch_embd"},
    {"vision_tower.embeddings.position_embedding", "v.position_embd"},
    {"vision_tower.pre_layrnorm", "v.pre_ln"},
    {"multi_modal_projector.linear_1", "mm.0"},
    {"multi_modal_projector.linear_2", "mm.2"},
};

Result<void> complete_gemma3(EncoderWork& w) {
  PUNA_TRY(put_square(w));
  PUNA_TRY(put_activation(w, "gelu_pytorch_tanh"));
  PUNA_TRY(const uint64_t image, w.part.count("image_size"));
  PUNA_TRY(const uint64_t patch, w.part.count("patch_size"));
  PUNA_TRY(const uint64_t tokens, w.texts.config.count("mm_tokens_per_image", 256));
  const auto across = static_cast<uint64_t>(std::llround(std::sqrt(static_cast<double>(tokens))));
  constexpr uint64_t kUsualFactor = 4;
  if (patch == 0 || across == 0 || across * across != tokens || image / patch % across != 0) {
    return base::fail(ErrorCode::kCorrupt,
                      fmt::format("The key \"mm_tokens_per_image\" of config.json is {}, but "
                                  "pictures have {} patches of {} pixels along a side.",
                                  tokens, patch == 0 ? 0 : image / patch, patch));
  }
  if (const uint64_t factor = image / patch / across; factor != kUsualFactor)
    w.m.set("vision.projector.scale_factor", factor);
  w.m.ignore("vision_tower.head.");
  return w.m.rename("multi_modal_projector.mm_input_projection_weight",
                    "mm.input_projection.weight");
}

Result<void> complete_idefics3(EncoderWork& w) {
  PUNA_TRY(put_square(w));
  PUNA_TRY(put_activation(w, "gelu_pytorch_tanh"));
  PUNA_TRY(const uint64_t factor, w.texts.config.count("scale_factor", 2));
  w.m.set("vision.projector.scale_factor", factor);
  const Json* size = w.texts.preprocessor.find("size");
  const Json* longest = size && size->is_object() ? size->find("longest_edge") : nullptr;
  if (longest && longest->is_integer() && longest->integer() > 0)
    w.m.set("vision.preproc_image_size", static_cast<uint64_t>(longest->integer()));
  return {};
}

// The hidden state that the projector sees, counted from the input; behind it no block is needed.
Result<void> complete_llava(EncoderWork& w) {
  PUNA_TRY(put_square(w));
  PUNA_TRY(put_activation(w, "quick_gelu"));
  PUNA_TRY(w.texts.config.must_be("vision_feature_select_strategy", "default"));
  const Json* value = w.texts.config.find("vision_feature_layer");
  const int64_t given = !value ? -2 : value->is_integer() ? value->integer() : 0;
  const int64_t layer = given < 0 ? static_cast<int64_t>(w.n_layers) + 1 + given : given;
  if (layer < 1 || layer > static_cast<int64_t>(w.n_layers)) {
    return base::fail(
        ErrorCode::kUnsupported,
        fmt::format("The key \"vision_feature_layer\" of config.json is {}; one of the "
                    "{} blocks is supported.",
                    value ? value->dump() : "-2", w.n_layers));
  }
  for (auto l = static_cast<uint64_t>(layer); l < w.n_layers; ++l)
    w.m.ignore(fmt::format("vision_tower.encoder.layers.{}.", l));
  w.n_layers = static_cast<uint64_t>(layer);
  w.m.set("vision.feature_layer", std::vector<uint64_t>{w.n_layers});
  w.m.ignore("vision_tower.post_layernorm.");
  return w.m.rename("vision_tower.embeddings.class_embedding", "v.class_embd");
}

}  // namespace

const EncoderFamily kGemma3Encoder = {
    .kind = "gemma3",
    .layer = "vision_tower.encoder.layers.{}.",
    .modules = kSiglipLayer,
    .others = kGemma3Others,
    .eps = 1e-6,
    .mean = kHalf,
    .std = kHalf,
    .complete = complete_gemma3,
};
const EncoderFamily kIdefics3Encoder = {
    .kind = "idefics3",
    .layer = "vision_tower.encoder.layers.{}.",
    .modules = kSiglipLayer,
    .others = kIdefics3Others,
    .eps = 1e-6,
    .mean = kHalf,
    .std = kHalf,
    .complete = complete_idefics3,
};
const EncoderFamily kLlavaEncoder = {
    .kind = "mlp",
    .layer = "vision_tower.encoder.layers.{}.",
    .modules = kSiglipLayer,
    .others = kLlavaOthers,
    .eps = 1e-5,
    .mean = kClipMean,
    .std = kClipStd,
    .complete = complete_llava,
};

}  // namespace puna::formats::hf
