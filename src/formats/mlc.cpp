#include "formats/mlc.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "formats/block_source.h"
#include "formats/hf_folder.h"
#include "formats/lfs_pointer.h"

namespace puna::formats {

using base::ErrorCode;
using base::Json;
using base::Result;
using base::Task;

namespace {

constexpr std::string_view kModelTypes[] = {"llama", "mistral", "phi3", "qwen2", "qwen3"};
constexpr std::string_view kQuantizations[] = {"q4f16_1", "q4f32_1", "q0f16", "q0f32"};

// Phi-3's modules have names of their own in MLC.
constexpr std::pair<std::string_view, std::string_view> kPhi3Names[] = {
    {"transformer.embd.", "model.embed_tokens."}, {"transformer.norm.", "model.norm."},
    {"transformer.h.", "model.layers."},          {".ln.", ".input_layernorm."},
    {".mixer.qkv_proj.", ".self_attn.qkv_proj."}, {".mixer.out_proj.", ".self_attn.o_proj."},
};

std::string hugging_face_name(std::string name) {
  for (const auto& [from, to] : kPhi3Names) {
    const size_t at = name.find(from);
    if (at != std::string::npos && (at == 0 || from.starts_with('.')))
      name.replace(at, from.size(), to);
  }
  return name;
}

std::unexpected<base::Error> bad(std::string_view what, std::string_view problem) {
  return base::fail(ErrorCode::kCorrupt, fmt::format("{} {}.", what, problem));
}

struct TypeName {
  std::string_view name;
  uint64_t bytes;
  std::optional<quant::Type> type;
};
constexpr TypeName kTypes[] = {
    {"float32", 4, quant::Type::kF32},
    {"float16", 2, quant::Type::kF16},
    {"bfloat16", 2, quant::Type::kBf16},
    {"uint32", 4, std::nullopt},
};

Result<RawTensor> parse_record(const Json& record, uint64_t shard_bytes) {
  RawTensor tensor;
  PUNA_TRY(tensor.name, record.get_string("name"));
  const std::string what = fmt::format("Tensor \"{}\"", tensor.name);
  PUNA_TRY_CONTEXT(tensor.type_name, record.get_string("dtype"), what);
  PUNA_TRY_CONTEXT(const std::string format, record.get_string("format"), what);
  PUNA_TRY_CONTEXT(const int64_t offset, record.get_integer("byteOffset"), what);
  PUNA_TRY_CONTEXT(const int64_t bytes, record.get_integer("nbytes"), what);
  const auto type = std::find_if(std::begin(kTypes), std::end(kTypes),
                                 [&](const TypeName& t) { return t.name == tensor.type_name; });
  if (type == std::end(kTypes))
    return bad(what, fmt::format("has the unknown dtype \"{}\"", tensor.type_name));
  tensor.type = type->type;
  uint64_t wanted = type->bytes;
  if (format == "f32-to-bf16" && tensor.type == quant::Type::kF32) {
    tensor.type = quant::Type::kBf16;
    wanted = 2;
  } else if (format != "raw" && format != "f32-to-bf16") {
    return bad(what, fmt::format("has the unknown format \"{}\"", format));
  }
  const Json* shape = record.find("shape");
  if (!shape || !shape->is_array()) return bad(what, "has no list \"shape\"");
  for (const Json& n : shape->items()) {
    if (!n.is_integer() || n.integer() <= 0)
      return bad(what, fmt::format("has {} in its shape", n.dump()));
    tensor.shape.push_back(static_cast<uint64_t>(n.integer()));
    if (wanted > UINT64_MAX / tensor.shape.back()) return bad(what, "has a shape beyond all sizes");
    wanted *= tensor.shape.back();
  }
  if (offset < 0 || bytes < 0 || static_cast<uint64_t>(offset) > shard_bytes ||
      static_cast<uint64_t>(bytes) > shard_bytes - static_cast<uint64_t>(offset))
    return bad(what, fmt::format("lies outside its shard of {} bytes", shard_bytes));
  tensor.offset = static_cast<uint64_t>(offset);
  tensor.bytes = static_cast<uint64_t>(bytes);
  if (tensor.bytes != wanted) {
    return bad(what,
               fmt::format("has {} bytes where its shape and dtype take {}", tensor.bytes, wanted));
  }
  return tensor;
}

Result<const Json*> list_of(const Json& json, std::string_view key, std::string_view what) {
  const Json* list = json.find(key);
  if (list && list->is_array()) return list;
  return bad(what, fmt::format("has no list \"{}\"", key));
}

// "X.q_weight" and "X.q_scale" as "X.weight" of blocks.
Result<void> join_blocks(RawModel& raw, std::string_view quantization) {
  for (size_t i = 0; i < raw.tensors.size(); ++i) {
    RawTensor& codes = raw.tensors[i];
    if (!codes.name.ends_with(".q_weight")) continue;
    const std::string stem = codes.name.substr(0, codes.name.size() - 9);
    const auto scales = std::ranges::find(raw.tensors, stem + ".q_scale", &RawTensor::name);
    if (scales == raw.tensors.end()) {
      return base::fail(ErrorCode::kNotFound,
                        fmt::format("Tensor \"{}.q_scale\" is missing.", stem));
    }
    const bool half = scales->type == quant::Type::kF16;
    if (codes.type_name != "uint32" || !scales->type || half != (quantization == "q4f16_1") ||
        codes.shape.size() != 2 || scales->shape.size() != 2 ||
        codes.shape[0] != scales->shape[0] || codes.shape[1] != 4 * scales->shape[1]) {
      return bad(fmt::format("Tensor \"{}\"", codes.name),
                 fmt::format("({} [{}]) and its scales ({} [{}]) are not of {}", codes.type_name,
                             fmt::join(codes.shape, ", "), scales->type_name,
                             fmt::join(scales->shape, ", "), quantization));
    }
    const BlockForm form = half                                 ? BlockForm::kMlcF16
                           : scales->type == quant::Type::kBf16 ? BlockForm::kMlcBf16
                                                                : BlockForm::kMlcF32;
    const std::vector<uint64_t> shape = {codes.shape[0], codes.shape[1] * 8};
    const auto source = static_cast<uint32_t>(raw.sources.size());
    raw.sources.push_back(make_blocks(
        raw.sources[codes.source]->name(), form, {raw.sources[codes.source].get(), codes.offset},
        {raw.sources[scales->source].get(), scales->offset}, scales->shape[0] * scales->shape[1]));
    codes = {stem + ".weight",          type_of(form), std::string(quantization), shape, source, 0,
             raw.sources.back()->size()};
    scales->name.clear();
  }
  std::erase_if(raw.tensors, [](const RawTensor& tensor) { return tensor.name.empty(); });
  return {};
}

Task<Result<MlcIndex>> load_index(const ModelFolder& folder) {
  for (const char* name : {"tensor-cache.json", "ndarray-cache.json"}) {
    auto reading = read_text(folder, name);
    PUNA_CO_TRY(const auto text, co_await std::move(reading));
    if (!text) continue;
    PUNA_CO_TRY_CONTEXT(MlcIndex index, parse_mlc_index(*text),
                        fmt::format("While reading {}", name));
    co_return std::move(index);
  }
  co_return base::fail(ErrorCode::kNotFound,
                       "The folder has mlc-chat-config.json, but neither tensor-cache.json nor "
                       "ndarray-cache.json.");
}

}  // namespace

Result<MlcIndex> parse_mlc_index(std::string_view text) {
  PUNA_TRY(const Json json, Json::parse(text, /*max_depth=*/16));
  PUNA_TRY(const Json* shards, list_of(json, "records", "The index"));
  MlcIndex index;
  for (const Json& shard : shards->items()) {
    PUNA_TRY(std::string file, shard.get_string("dataPath"));
    PUNA_TRY(const std::string format, shard.get_string("format"));
    PUNA_TRY(const int64_t bytes, shard.get_integer("nbytes"));
    const std::string what = fmt::format("Shard \"{}\"", file);
    if (file.empty() || file.find_first_of("/\\") != std::string::npos || file == "..")
      return bad(what, "has a name that is no file's");
    if (format != "raw-shard" || bytes < 0)
      return bad(what, fmt::format("has the format \"{}\" and {} bytes", format, bytes));
    PUNA_TRY(const Json* records, list_of(shard, "records", what));
    for (const Json& record : records->items()) {
      PUNA_TRY_CONTEXT(RawTensor tensor, parse_record(record, static_cast<uint64_t>(bytes)),
                       fmt::format("While reading {}", what));
      tensor.source = static_cast<uint32_t>(index.shards.size());
      index.tensors.push_back(std::move(tensor));
    }
    index.shards.push_back({std::move(file), static_cast<uint64_t>(bytes)});
  }
  return index;
}

Result<hf::Config> parse_mlc_config(std::string_view text) {
  PUNA_TRY(const hf::Config chat, hf::Config::parse(text));
  PUNA_TRY(const std::string type, chat.text("model_type", ""));
  if (std::ranges::find(kModelTypes, type) == std::end(kModelTypes)) {
    return base::fail(ErrorCode::kUnsupported,
                      fmt::format("MLC weights of the model type \"{}\" are not supported "
                                  "(supported: {}).",
                                  type, fmt::join(kModelTypes, ", ")));
  }
  PUNA_TRY(const std::string quantization, chat.text("quantization", ""));
  if (std::ranges::find(kQuantizations, quantization) == std::end(kQuantizations)) {
    return base::fail(ErrorCode::kUnsupported,
                      fmt::format("MLC's quantization \"{}\" is not supported (supported: {}).",
                                  quantization, fmt::join(kQuantizations, ", ")));
  }
  const Json* model = chat.find("model_config");
  if (!model || !model->is_object())
    return bad("mlc-chat-config.json", "has no object \"model_config\"");
  Json json = *model;
  json.set("model_type", type);
  json.set("mlc_quantization", quantization);
  constexpr std::pair<const char*, const char*> kOtherNames[] = {
      {"position_embedding_base", "rope_theta"},
      {"context_window_size", "max_position_embeddings"},
      {"sliding_window_size", "sliding_window"},
  };
  for (const auto& [mlc, hf] : kOtherNames) {
    const Json* value = model->find(mlc);
    // 0 and -1 stand for "not set".
    if (value && value->is_number() && value->number() > 0 && !model->find(hf))
      json.set(hf, *value);
  }
  return hf::Config(std::move(json));
}

Task<Result<ModelFile>> load_mlc(const ModelFolder& folder, std::string chat_config) {
  PUNA_CO_TRY_CONTEXT(hf::Config config, parse_mlc_config(chat_config),
                      "While reading mlc-chat-config.json");
  PUNA_CO_TRY(const std::string quantization, config.text("mlc_quantization", ""));
  auto loading = load_index(folder);
  PUNA_CO_TRY(MlcIndex index, co_await std::move(loading));
  RawModel raw;
  raw.tensors = std::move(index.tensors);
  for (const MlcShard& shard : index.shards) {
    PUNA_CO_TRY(auto source, folder.file(shard.file));
    auto checking = refuse_lfs_pointer(*source);
    PUNA_CO_TRY(co_await std::move(checking));
    if (source->size() < shard.bytes) {
      co_return base::fail(ErrorCode::kCorrupt,
                           fmt::format("\"{}\" has {} bytes; the index says {}.", source->name(),
                                       source->size(), shard.bytes));
    }
    raw.sources.push_back(std::move(source));
  }
  for (RawTensor& tensor : raw.tensors) tensor.name = hugging_face_name(std::move(tensor.name));
  PUNA_CO_TRY(join_blocks(raw, quantization));
  PUNA_CO_TRY(ModelFile file, map_hf_model(folder.path, std::move(config), std::move(raw)));
  auto describing = describe_model(folder, file);
  PUNA_CO_TRY(co_await std::move(describing));
  co_return std::move(file);
}

}  // namespace puna::formats
