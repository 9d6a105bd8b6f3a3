#include "formats/hf_folder.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "base/half.h"
#include "base/log.h"
#include "formats/block_source.h"
#include "formats/hf/encoders/encoders.h"
#include "formats/hf/families.h"
#include "formats/hf_judge.h"
#include "formats/safetensors.h"

namespace puna::formats {

using base::ErrorCode;
using base::Json;
using base::Result;
using base::Task;

namespace {

constexpr const char* kOneFile = "model.safetensors";
constexpr const char* kIndex = "model.safetensors.index.json";

// Where models that see or hear too have their text part; the rest of their tensors is left out.
constexpr std::pair<std::string_view, std::string_view> kTextPrefixes[] = {
    {"model.language_model.", "model."},
    {"language_model.model.", "model."},
    {"language_model.lm_head.", "lm_head."},
    {"model.text_model.", "model."},
};
constexpr std::string_view kOtherParts[] = {
    "vision_tower.",
    "model.vision_tower.",
    "visual.",
    "model.visual.",
    "audio_tower.",
    "model.audio_tower.",
    "embed_vision.",
    "model.embed_vision.",
    "embed_audio.",
    "model.embed_audio.",
    "vision_model.",
    "model.vision_model.",
    "multi_modal_projector.",
    "model.multi_modal_projector.",
    "model.connector.",
    "connector.",
};

// A folder of the decoder alone, without an output layer, has no name before its parts.
constexpr std::string_view kBareParts[] = {"embed_tokens.", "layers.", "norm."};

void name_bare_parts(RawModel& raw) {
  const auto is_table = [](const RawTensor& t) { return t.name == "embed_tokens.weight"; };
  if (std::ranges::none_of(raw.tensors, is_table)) return;
  for (RawTensor& tensor : raw.tensors) {
    if (std::ranges::any_of(kBareParts,
                            [&](std::string_view p) { return tensor.name.starts_with(p); }))
      tensor.name = "model." + tensor.name;
  }
}

void keep_text_part(RawModel& raw) {
  const size_t n = raw.tensors.size();
  std::erase_if(raw.tensors, [](const RawTensor& tensor) {
    return std::ranges::any_of(kOtherParts,
                               [&](std::string_view p) { return tensor.name.starts_with(p); });
  });
  if (raw.tensors.size() < n)
    base::log_info("{} tensors of other parts than text are left out.", n - raw.tensors.size());
  for (RawTensor& tensor : raw.tensors) {
    for (const auto& [from, to] : kTextPrefixes) {
      if (!tensor.name.starts_with(from)) continue;
      tensor.name = std::string(to) + tensor.name.substr(from.size());
      break;
    }
  }
}

Result<void> check_quantization(const hf::Config& config, std::string_view model_type) {
  const Json* quantization = config.find("quantization_config");
  if (!quantization) return {};
  const Json* method = quantization->find("quant_method");
  const std::string name = method && method->is_string() ? method->string() : "unnamed";
  if (name == "mxfp4" && model_type == "gpt_oss") return {};
  return base::fail(ErrorCode::kUnsupported,
                    fmt::format("The folder's weights are quantized by \"{}\", which is not "
                                "supported (supported: f32, f16, bf16, and mxfp4 for gpt-oss).",
                                name));
}

// gpt-oss's codes [.., columns / 32, 16] and exponents [.., columns / 32] as one tensor of mxfp4.
Result<void> join_mxfp4(RawModel& raw) {
  for (size_t i = 0; i < raw.tensors.size(); ++i) {
    RawTensor& codes = raw.tensors[i];
    if (!codes.name.ends_with("_blocks")) continue;
    const std::string name = codes.name.substr(0, codes.name.size() - 7) + "_scales";
    const auto scales = std::ranges::find(raw.tensors, name, &RawTensor::name);
    std::vector<uint64_t> shape = codes.shape;
    const bool whole = shape.size() >= 2 && shape.back() == 16 && codes.type_name == "U8";
    if (whole) shape.pop_back();
    if (!whole || scales == raw.tensors.end() || scales->shape != shape ||
        scales->type_name != "U8") {
      return base::fail(ErrorCode::kCorrupt,
                        fmt::format("Tensor \"{}\" is not codes of mxfp4 with exponents in \"{}\".",
                                    codes.name, name));
    }
    const uint64_t n_blocks = scales->bytes;
    shape.back() *= quant::info(quant::Type::kMXFP4).block_elements;
    const auto source = static_cast<uint32_t>(raw.sources.size());
    raw.sources.push_back(make_blocks(raw.sources[codes.source]->name(), BlockForm::kMxfp4,
                                      {raw.sources[codes.source].get(), codes.offset},
                                      {raw.sources[scales->source].get(), scales->offset},
                                      n_blocks));
    codes = {codes.name, quant::Type::kMXFP4,       "MXFP4", std::move(shape), source,
             0,          raw.sources.back()->size()};
    scales->name.clear();
  }
  std::erase_if(raw.tensors, [](const RawTensor& tensor) { return tensor.name.empty(); });
  return {};
}

Task<Result<void>> load_shard(const ModelFolder& folder, std::string name, RawModel& raw) {
  PUNA_CO_TRY(auto source, folder.file(name));
  auto task = load_safetensors(*source);
  PUNA_CO_TRY_CONTEXT(std::vector<RawTensor> tensors, co_await std::move(task),
                      fmt::format("While reading {}", source->name()));
  for (RawTensor& tensor : tensors) {
    tensor.source = static_cast<uint32_t>(raw.sources.size());
    raw.tensors.push_back(std::move(tensor));
  }
  raw.sources.push_back(std::move(source));
  co_return {};
}

Result<void> check_names(const RawModel& raw) {
  std::vector<std::string_view> names;
  for (const RawTensor& tensor : raw.tensors) names.push_back(tensor.name);
  std::ranges::sort(names);
  const auto twice = std::ranges::adjacent_find(names);
  if (twice == names.end()) return {};
  return base::fail(ErrorCode::kCorrupt,
                    fmt::format("Tensor \"{}\" is in the folder twice.", *twice));
}

Task<Result<RawModel>> load_tensors(const ModelFolder& folder) {
  RawModel raw;
  auto reading = read_text(folder, kIndex);
  PUNA_CO_TRY(const auto index, co_await std::move(reading));
  std::vector<std::string> shards = {kOneFile};
  if (index) {
    PUNA_CO_TRY_CONTEXT(shards, parse_safetensors_index(*index),
                        fmt::format("While reading {}", kIndex));
  }
  for (const std::string& shard : shards) {
    auto task = load_shard(folder, shard, raw);
    auto loaded = co_await std::move(task);
    if (loaded) continue;
    if (!index && loaded.error().code == ErrorCode::kNotFound) {
      co_return base::fail(ErrorCode::kNotFound,
                           fmt::format("The folder has config.json, but neither {} nor {}; weights "
                                       "in other formats are not read.",
                                       kOneFile, kIndex));
    }
    co_return std::unexpected(std::move(loaded.error()));
  }
  PUNA_CO_TRY(check_names(raw));
  co_return std::move(raw);
}

// By name, one or several, or by flags for each, in files made before version 5.
Result<std::vector<std::string>> pooling_modes(const hf::Config& pooling) {
  constexpr const char* kKey = "pooling_mode";
  if (const Json* mode = pooling.find(kKey)) {
    if (mode->is_array()) return pooling.texts(kKey);
    PUNA_TRY(std::string name, pooling.text(kKey, ""));
    return std::vector<std::string>{std::move(name)};
  }
  constexpr std::pair<const char*, const char*> kFlags[] = {
      {"pooling_mode_mean_tokens", "mean"},
      {"pooling_mode_cls_token", "cls"},
      {"pooling_mode_lasttoken", "lasttoken"},
      {"pooling_mode_max_tokens", "max"},
      {"pooling_mode_mean_sqrt_len_tokens", "mean_sqrt_len_tokens"},
      {"pooling_mode_weightedmean_tokens", "weightedmean"}};
  std::vector<std::string> modes;
  for (const auto& [key, name] : kFlags) {
    PUNA_TRY(const bool on, pooling.flag(key, false));
    if (on) modes.emplace_back(name);
  }
  return modes;
}

// How the rows of a text become one embedding, as sentence-transformers says it.
Task<Result<void>> put_pooling(const ModelFolder& folder, ModelFile& file) {
  auto reading = read_text(folder, "1_Pooling/config.json");
  PUNA_CO_TRY(const auto text, co_await std::move(reading));
  if (!text) co_return {};
  PUNA_CO_TRY_CONTEXT(const hf::Config pooling, hf::Config::parse(*text),
                      "While reading 1_Pooling/config.json");
  PUNA_CO_TRY_CONTEXT(const std::vector<std::string> modes, pooling_modes(pooling),
                      "While reading 1_Pooling/config.json");
  constexpr std::pair<std::string_view, uint64_t> kModes[] = {
      {"mean", 1}, {"cls", 2}, {"lasttoken", 3}};
  for (const auto& [mode, number] : kModes) {
    if (modes.size() != 1 || modes[0] != mode) continue;
    PUNA_CO_TRY(const std::string architecture, file.get_string("general.architecture"));
    file.metadata.emplace_back(architecture + ".pooling_type", number);
    co_return {};
  }
  co_return base::fail(ErrorCode::kUnsupported,
                       fmt::format("1_Pooling/config.json asks for the pooling \"{}\"; mean, cls "
                                   "and lasttoken, one of them, are supported.",
                                   fmt::join(modes, ", ")));
}

// The products behind the pooling, as sentence-transformers has them in folders of their own.
// "linear.weight" of 2_Dense becomes "dense_2.weight", as GGUF calls it.
Task<Result<void>> load_dense(const ModelFolder& folder, RawModel& raw) {
  for (uint32_t number = 2; number <= 3; ++number) {
    const std::string path = fmt::format("{}_Dense/", number);
    auto reading = read_text(folder, path + "config.json");
    PUNA_CO_TRY(const auto text, co_await std::move(reading));
    if (!text) continue;
    const std::string context = fmt::format("While reading {}config.json", path);
    PUNA_CO_TRY_CONTEXT(const hf::Config config, hf::Config::parse(*text), context);
    PUNA_CO_TRY_CONTEXT(config.must_be("activation_function", "torch.nn.modules.linear.Identity"),
                        context);
    PUNA_CO_TRY_CONTEXT(config.must_be("use_residual", false), context);
    PUNA_CO_TRY_CONTEXT(config.must_be("module_output_name", "sentence_embedding"), context);
    const size_t first = raw.tensors.size();
    auto loading = load_shard(folder, path + kOneFile, raw);
    PUNA_CO_TRY(co_await std::move(loading));
    constexpr std::string_view kLinear = "linear";
    for (size_t i = first; i < raw.tensors.size(); ++i) {
      std::string& name = raw.tensors[i].name;
      const bool linear = name.starts_with(kLinear);
      name = linear ? fmt::format("dense_{}{}", number, name.substr(kLinear.size())) : path + name;
    }
  }
  co_return check_names(raw);
}

// The id of [IMG_BREAK] in the tokenizer; none where there is none.
Task<Result<std::optional<uint64_t>>> find_break_token(const ModelFolder& folder) {
  auto reading = read_text(folder, "tokenizer.json");
  PUNA_CO_TRY(const auto text, co_await std::move(reading));
  if (!text) co_return std::nullopt;
  PUNA_CO_TRY_CONTEXT(const Json json, Json::parse(*text), "While reading tokenizer.json");
  const Json* added = json.find("added_tokens");
  if (!added || !added->is_array()) co_return std::nullopt;
  for (const Json& token : added->items()) {
    const Json* content = token.find("content");
    const Json* id = token.find("id");
    if (content && *content == Json("[IMG_BREAK]") && id && id->is_integer() && id->integer() >= 0)
      co_return static_cast<uint64_t>(id->integer());
  }
  co_return std::nullopt;
}

}  // namespace

Task<Result<bool>> has_hf_encoder(const ModelFolder& folder) {
  auto reading = read_text(folder, "config.json");
  PUNA_CO_TRY(const auto text, co_await std::move(reading));
  if (!text) co_return false;
  PUNA_CO_TRY_CONTEXT(const hf::Config config, hf::Config::parse_whole(*text),
                      "While reading config.json");
  co_return hf::has_encoder(config);
}

Task<Result<ModelFile>> load_hf_encoder(const ModelFolder& folder) {
  auto reading = read_text(folder, "config.json");
  PUNA_CO_TRY(const auto text, co_await std::move(reading));
  if (!text) co_return base::fail(ErrorCode::kNotFound, "There is no config.json in the folder.");
  hf::EncoderTexts texts;
  PUNA_CO_TRY_CONTEXT(texts.config, hf::Config::parse_whole(*text), "While reading config.json");
  PUNA_CO_TRY(check_quantization(texts.config, ""));
  auto preprocessing = read_text(folder, "preprocessor_config.json");
  PUNA_CO_TRY(const auto preprocessor, co_await std::move(preprocessing));
  if (preprocessor) {
    PUNA_CO_TRY_CONTEXT(texts.preprocessor, hf::Config::parse_whole(*preprocessor),
                        "While reading preprocessor_config.json");
  }
  auto finding = find_break_token(folder);
  PUNA_CO_TRY(texts.break_token, co_await std::move(finding));
  auto loading = load_tensors(folder);
  PUNA_CO_TRY(RawModel raw, co_await std::move(loading));
  PUNA_CO_TRY(ModelFile file, hf::map_encoder(folder.path, texts, std::move(raw)));
  put_general(folder, file);
  co_return std::move(file);
}

Result<ModelFile> map_hf_model(std::string name, hf::Config config, RawModel raw) {
  PUNA_TRY(const std::string type, config.text("model_type", ""));
  const hf::Family* family = hf::find_family(config);
  if (!family) {
    std::string known;
    for (const hf::Family& f : hf::families()) {
      if (f.when) continue;
      known += (known.empty() ? "" : ", ") + std::string(f.model_type);
    }
    return base::fail(ErrorCode::kUnsupported,
                      fmt::format("The model type \"{}\" of config.json is not supported "
                                  "(supported: {}).",
                                  type, known));
  }
  PUNA_TRY(check_quantization(config, type));
  keep_text_part(raw);
  name_bare_parts(raw);
  PUNA_TRY(join_mxfp4(raw));
  hf::Mapping mapping(std::move(name), std::string(family->architecture), std::move(config),
                      std::move(raw));
  PUNA_TRY(family->map(mapping));
  return mapping.finish();
}

namespace {

// The tensors of one element that the family wants as numbers.
Task<Result<void>> read_scalars(std::string_view in_name, RawModel& raw) {
  if (in_name.empty()) co_return {};
  for (RawTensor& tensor : raw.tensors) {
    if (tensor.name.find(in_name) == std::string::npos) continue;
    std::array<std::byte, sizeof(float)> bytes{};
    const bool half = tensor.type == quant::Type::kF16 || tensor.type == quant::Type::kBf16;
    if (!half && tensor.type != quant::Type::kF32) continue;
    const size_t wanted = half ? sizeof(uint16_t) : sizeof(float);
    if (tensor.bytes != wanted) continue;
    auto reading = io::read(*raw.sources[tensor.source], tensor.offset, {bytes.data(), wanted});
    PUNA_CO_TRY(co_await std::move(reading));
    uint16_t bits = 0;
    std::memcpy(&bits, bytes.data(), sizeof(bits));
    float value = 0;
    std::memcpy(&value, bytes.data(), sizeof(value));
    if (tensor.type == quant::Type::kF16) value = base::f16_to_f32(bits);
    if (tensor.type == quant::Type::kBf16) value = base::bf16_to_f32(bits);
    tensor.scalar = value;
  }
  co_return {};
}

}  // namespace

Task<Result<ModelFile>> load_hf_folder(const ModelFolder& folder, std::string text) {
  PUNA_CO_TRY_CONTEXT(hf::Config config, hf::Config::parse(text), "While reading config.json");
  auto loading = load_tensors(folder);
  PUNA_CO_TRY(RawModel raw, co_await std::move(loading));
  auto dense = load_dense(folder, raw);
  PUNA_CO_TRY(co_await std::move(dense));
  const hf::Family* family = hf::find_family(config);
  auto scalars = read_scalars(family ? family->scalars : std::string_view(), raw);
  PUNA_CO_TRY(co_await std::move(scalars));
  PUNA_CO_TRY(ModelFile file, map_hf_model(folder.path, std::move(config), std::move(raw)));
  auto pooling = put_pooling(folder, file);
  PUNA_CO_TRY(co_await std::move(pooling));
  auto describing = describe_model(folder, file);
  PUNA_CO_TRY(co_await std::move(describing));
  auto judging = put_judge(folder, file);
  PUNA_CO_TRY(co_await std::move(judging));
  co_return std::move(file);
}

}  // namespace puna::formats
