#include "formats/hf/encoders/encoders.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <span>
#include <utility>
#include <vector>

#include "formats/hf/encoders/family.h"

namespace puna::formats::hf {

using base::ErrorCode;
using base::Json;
using base::Result;

namespace {

constexpr uint64_t kMostLayers = 4096;

// Names as transformers 5 writes them; files of before have some more words in front.
constexpr std::pair<std::string_view, std::string_view> kPrefixes[] = {
    {"model.", ""},
    {"vision_tower.vision_model.", "vision_tower."},
    {"vision_model.", "vision_tower."},
};
constexpr std::string_view kPictureParts[] = {"vision_tower.", "visual.", "multi_modal_projector.",
                                              "connector.", "embed_vision."};
constexpr std::string_view kSoundParts[] = {"audio_tower.", "multi_modal_projector.",
                                            "embed_audio."};

// The models that have an encoder, and of which family it is.
struct Row {
  std::string_view model_type;  // of config.json
  std::string_view tower;       // model_type of its vision_config; empty: whatever it is
  const EncoderFamily& family;
};
constexpr Row kRows[] = {
    {"gemma3", "", kGemma3Encoder},        {"gemma4", "", kGemma4Encoder},
    {"gemma4", "", kGemma4SoundEncoder},   {"idefics3", "", kIdefics3Encoder},
    {"internvl", "", kInternEncoder},      {"llava", "clip_vision_model", kLlavaEncoder},
    {"llava", "pixtral", kPixtralEncoder}, {"mistral3", "", kPixtralEncoder},
    {"qwen2_5_vl", "", kQwen25Encoder},    {"qwen3_vl", "", kQwen3Encoder},
    {"smolvlm", "", kIdefics3Encoder},     {"voxtral", "", kVoxtralEncoder},
};

const Json* part_of(const Config& config, bool sounds) {
  const Json* part = config.find(sounds ? "audio_config" : "vision_config");
  return part && part->is_object() ? part : nullptr;
}

// One for each sense that the model has.
std::vector<const EncoderFamily*> find_families(const Config& config) {
  const std::string type = config.text("model_type", "").value_or("");
  std::vector<const EncoderFamily*> out;
  for (const Row& row : kRows) {
    const Json* part = part_of(config, row.family.sounds);
    if (row.model_type != type || !part) continue;
    const Json* tower = part->find("model_type");
    if (row.tower.empty() || (tower && *tower == Json(row.tower))) out.push_back(&row.family);
  }
  return out;
}

// The encoders' tensors, by the names of the table; with the text model's embeddings, of which a
// row may be wanted.
void keep_encoders(RawModel& raw, std::span<const EncoderFamily* const> families) {
  std::vector<std::string_view> parts;
  for (const EncoderFamily* family : families) {
    const std::span<const std::string_view> own =
        family->sounds ? std::span<const std::string_view>(kSoundParts) : kPictureParts;
    parts.insert(parts.end(), own.begin(), own.end());
  }
  for (RawTensor& tensor : raw.tensors) {
    for (const auto& [from, to] : kPrefixes) {
      if (tensor.name.starts_with(from))
        tensor.name = std::string(to) + tensor.name.substr(from.size());
    }
    if (tensor.name.ends_with(kTextTable)) tensor.name = kTextTable;
  }
  std::erase_if(raw.tensors, [&](const RawTensor& tensor) {
    return tensor.name != kTextTable && std::ranges::none_of(parts, [&](std::string_view part) {
             return tensor.name.starts_with(part);
           });
  });
}

// By the tensors there are, where config.json leaves the number to the library that it is for.
Result<uint64_t> count_layers(EncoderWork& w) {
  for (const char* key : {"num_hidden_layers", "depth", "encoder_layers"}) {
    if (w.part.has(key)) return w.part.count(key);
  }
  const std::string norm(w.family.modules.front().hf);
  uint64_t n = 0;
  while (n < kMostLayers &&
         w.m.find(fmt::format(fmt::runtime(w.family.layer), n) + norm + ".weight"))
    ++n;
  return n;
}

// Rows of the first layer's tensor of this name.
Result<uint64_t> rows_of(EncoderWork& w, std::string_view gguf) {
  const auto module = std::ranges::find(w.family.modules, gguf, &Rename::gguf);
  const std::string name =
      fmt::format(fmt::runtime(w.family.layer), 0) + std::string(module->hf) + ".weight";
  const RawTensor* tensor = w.m.find(name);
  if (tensor && !tensor->shape.empty()) return tensor->shape.front();
  return base::fail(ErrorCode::kNotFound,
                    fmt::format("config.json tells of an encoder, but its tensor \"{}\" is "
                                "missing.",
                                name));
}

Result<uint64_t> first_count(const Config& config, std::initializer_list<const char*> keys,
                             uint64_t otherwise) {
  for (const char* key : keys) {
    if (config.has(key)) return config.count(key);
  }
  return otherwise;
}

Result<std::vector<double>> colour(const Config& preprocessor, const char* key,
                                   const Colour& usual) {
  PUNA_TRY(std::vector<double> out, preprocessor.reals(key));
  if (out.empty()) out.assign(usual.begin(), usual.end());
  return out;
}

Result<void> put_keys(EncoderWork& w) {
  const std::string sense = w.family.sounds ? "audio" : "vision";
  const auto set = [&](std::string_view key, Value value) {
    w.m.set(fmt::format("{}.{}", sense, key), std::move(value));
  };
  // Clip's default of heads is a part of the width; others say their number.
  PUNA_TRY(const uint64_t heads,
           first_count(w.part, {"num_attention_heads", "num_heads", "encoder_attention_heads"},
                       w.family.kind == "idefics3" ? 12 : 16));
  w.m.n_heads = w.m.n_kv_heads = heads;
  PUNA_TRY(const uint64_t ffn, rows_of(w, "ffn_up"));
  double eps = w.family.eps;
  for (const char* key : {"layer_norm_eps", "rms_norm_eps"}) {
    PUNA_TRY(eps, w.part.real(key, eps));
  }
  PUNA_TRY(Config whole, Config::parse(w.texts.config.json().dump()));
  PUNA_TRY(const uint64_t width, whole.count("hidden_size"));
  set("projection_dim", width);
  set("embedding_length", w.hidden);
  set("feed_forward_length", ffn);
  set("block_count", w.n_layers);
  set("attention.head_count", heads);
  set("attention.layer_norm_epsilon", eps);
  w.m.set(fmt::format("has_{}_encoder", sense), true);
  const bool own_key = w.family.kind.starts_with("gemma4");  // which has another for each sense
  w.m.set(own_key ? sense + ".projector_type" : "projector_type", std::string(w.family.kind));
  if (w.family.sounds) return {};
  PUNA_TRY(std::vector<double> mean, colour(w.texts.preprocessor, "image_mean", w.family.mean));
  PUNA_TRY(std::vector<double> std, colour(w.texts.preprocessor, "image_std", w.family.std));
  set("image_mean", std::move(mean));
  set("image_std", std::move(std));
  return {};
}

Result<void> map_family(Mapping& m, const EncoderFamily& family, const EncoderTexts& texts) {
  EncoderWork w{.m = m,
                .family = family,
                .texts = texts,
                .part = Config(*part_of(texts.config, family.sounds))};
  PUNA_TRY(w.n_layers, count_layers(w));
  if (w.n_layers == 0 || w.n_layers > kMostLayers) {
    return base::fail(ErrorCode::kCorrupt,
                      fmt::format("The encoder of config.json has {} blocks, but 1 to {} are "
                                  "expected.",
                                  w.n_layers, kMostLayers));
  }
  PUNA_TRY(w.hidden, rows_of(w, family.modules.front().gguf));
  PUNA_TRY(family.complete(w));
  PUNA_TRY(put_keys(w));
  const char* const prefix = family.sounds ? "a" : "v";
  for (const Rename& each : family.others) {
    for (const char* part : {".weight", ".bias"})
      PUNA_TRY(m.rename(std::string(each.hf) + part, std::string(each.gguf) + part, each.how));
  }
  for (uint64_t l = 0; l < w.n_layers; ++l) {
    const std::string layer = fmt::format(fmt::runtime(family.layer), l);
    for (const Rename& each : family.modules) {
      for (const char* part : {".weight", ".bias"}) {
        PUNA_TRY(m.rename(layer + std::string(each.hf) + part,
                          fmt::format("{}.blk.{}.{}{}", prefix, l, each.gguf, part), each.how));
      }
    }
  }
  return {};
}

}  // namespace

bool has_encoder(const Config& config) { return !find_families(config).empty(); }

Result<ModelFile> map_encoder(std::string name, const EncoderTexts& texts, RawModel raw) {
  const std::vector<const EncoderFamily*> families = find_families(texts.config);
  if (families.empty()) {
    std::string known;
    for (const Row& row : kRows) {
      if (!known.ends_with(row.model_type))
        known += (known.empty() ? "" : ", ") + std::string(row.model_type);
    }
    return base::fail(
        ErrorCode::kUnsupported,
        fmt::format(
            "The model type \"{}\" of config.json has no encoder of pictures or sounds that "
            "is known (known: {}).",
            texts.config.text("model_type", "").value_or(""), known));
  }
  keep_encoders(raw, families);
  Mapping m(std::move(name), "clip", texts.config, std::move(raw));
  m.set_general("general.type", std::string("mmproj"));
  for (const EncoderFamily* family : families) PUNA_TRY(map_family(m, *family, texts));
  m.ignore(kTextTable);
  return m.finish();
}
}  // namespace puna::formats::hf
