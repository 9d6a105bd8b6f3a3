#include "formats/hf/mapping.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <utility>

#include "quant/mix.h"

namespace puna::formats::hf {

using base::ErrorCode;
using base::Result;

namespace {

constexpr uint64_t kMostLayers = 4096;
constexpr uint64_t kMostWidth = uint64_t{1} << 20;

// What GGUF files hold in f32 whatever the matrices are: vectors, norms, routers, convolutions.
quant::Type stored_type(std::string_view name, std::span<const uint64_t> shape, quant::Type type) {
  const auto dims = static_cast<size_t>(std::ranges::count_if(shape, [](auto n) { return n > 1; }));
  const bool floats = quant::info(type).block_elements == 1;
  return floats && !quant::is_mixed(name, dims) ? quant::Type::kF32 : type;
}

double as_f32(double v) { return static_cast<double>(static_cast<float>(v)); }

}  // namespace

std::string layer_name(uint32_t layer, std::string_view part) {
  return fmt::format("blk.{}.{}", layer, part);
}

Mapping::Mapping(std::string name, std::string architecture, Config config, RawModel raw)
    : name_(std::move(name)),
      architecture_(std::move(architecture)),
      config_(std::move(config)),
      raw_(std::move(raw)),
      used_(raw_.tensors.size()) {
  for (size_t i = 0; i < raw_.tensors.size(); ++i)
    index_.emplace_back(std::hash<std::string_view>{}(raw_.tensors[i].name),
                        static_cast<uint32_t>(i));
  std::sort(index_.begin(), index_.end());
  file_.sources = std::move(raw_.sources);
  file_.name = name_;
  set_general("general.architecture", architecture_);
}

void Mapping::set(std::string_view key, Value value) {
  set_general(fmt::format("{}.{}", architecture_, key), std::move(value));
}

void Mapping::set_general(std::string key, Value value) {
  if (auto* real = std::get_if<double>(&value)) *real = as_f32(*real);
  if (auto* reals = std::get_if<std::vector<double>>(&value)) {
    for (double& v : *reals) v = as_f32(v);
  }
  for (auto& [name, old] : file_.metadata) {
    if (name != key) continue;
    old = std::move(value);
    return;
  }
  file_.metadata.emplace_back(std::move(key), std::move(value));
}

void Mapping::assume(std::string_view key, base::Json value) {
  if (config_.has(key)) return;
  base::Json json = config_.json();
  json.set(std::string(key), std::move(value));
  config_ = Config(std::move(json));
}

Result<void> Mapping::copy(std::span<const Key> keys) {
  for (const Key& key : keys) {
    if (!key.required && !config_.has(key.hf)) continue;
    if (key.kind == Key::Kind::kCount) {
      PUNA_TRY(const uint64_t n, config_.count(key.hf));
      set(key.gguf, n);
    } else if (key.kind == Key::Kind::kReal) {
      PUNA_TRY(const double v, config_.real(key.hf));
      set(key.gguf, v);
    } else {
      PUNA_TRY(const bool v, config_.flag(key.hf, false));
      set(key.gguf, v);
    }
  }
  return {};
}

Result<void> Mapping::read_sizes() {
  PUNA_TRY(const uint64_t layers, config_.count("num_hidden_layers"));
  if (layers == 0 || layers > kMostLayers) {
    return base::fail(ErrorCode::kCorrupt,
                      fmt::format("The key \"num_hidden_layers\" of config.json is {}, but 1 to {} "
                                  "is expected.",
                                  layers, kMostLayers));
  }
  n_layers = static_cast<uint32_t>(layers);
  PUNA_TRY(hidden, config_.count("hidden_size"));
  PUNA_TRY(n_heads, config_.count("num_attention_heads", 0));
  PUNA_TRY(n_kv_heads, config_.count("num_key_value_heads", n_heads));
  PUNA_TRY(head_dim, config_.count("head_dim", n_heads > 0 ? hidden / n_heads : 0));
  if (hidden > kMostWidth || head_dim > kMostWidth) {
    return base::fail(ErrorCode::kCorrupt,
                      fmt::format("config.json gives rows of {} and heads of {} elements; at most "
                                  "{} are expected.",
                                  hidden, head_dim, kMostWidth));
  }
  return {};
}

const RawTensor* Mapping::find(const std::string& name) {
  const uint64_t hash = std::hash<std::string_view>{}(name);
  auto it = std::lower_bound(index_.begin(), index_.end(), std::pair<uint64_t, uint32_t>(hash, 0));
  for (; it != index_.end() && it->first == hash; ++it) {
    if (raw_.tensors[it->second].name != name) continue;
    used_[it->second] = true;
    return &raw_.tensors[it->second];
  }
  return nullptr;
}

Result<Strided> Mapping::view(const std::string& name) {
  const RawTensor* tensor = find(name);
  if (!tensor) {
    return base::fail(ErrorCode::kNotFound,
                      fmt::format("Tensor \"{}\" is missing in {}.", name, name_));
  }
  return Strided(*tensor, *file_.sources[tensor->source]);
}

Result<void> Mapping::put(std::string name, std::vector<Strided> parts,
                          std::vector<uint64_t> shape) {
  uint64_t elements = 0;
  for (const Strided& part : parts) {
    PUNA_TRY(part.check());
    elements += part.elements();
  }
  uint64_t wanted = 1;
  for (const uint64_t n : shape) wanted = n > 0 && wanted <= UINT64_MAX / n ? wanted * n : 0;
  const RawTensor& first = parts.front().tensor();
  for (const Strided& part : parts) {
    if (part.tensor().type == first.type) continue;
    return base::fail(
        ErrorCode::kUnsupported,
        fmt::format("Tensors \"{}\" ({}) and \"{}\" ({}) become one, but are of two "
                    "types.",
                    first.name, first.type_name, part.tensor().name, part.tensor().type_name));
  }
  if (wanted == 0 || wanted != elements) {
    return base::fail(
        ErrorCode::kCorrupt,
        fmt::format("Tensor \"{}\" of shape [{}] does not become \"{}\" of shape [{}].", first.name,
                    fmt::join(first.shape, ", "), name, fmt::join(shape, ", ")));
  }
  Tensor tensor;
  tensor.type = stored_type(name, shape, *first.type);
  tensor.shape = std::move(shape);
  tensor.bytes = quant::row_bytes(tensor.type, elements);
  const auto range =
      parts.size() == 1 && tensor.type == *first.type ? parts.front().range() : std::nullopt;
  if (range) {
    tensor.source = first.source;
    tensor.offset = range->offset;
  } else {
    const std::string& file = file_.sources[first.source]->name();
    tensor.source = static_cast<uint32_t>(file_.sources.size());
    file_.sources.push_back(make_view(file, std::move(parts), tensor.type, tile_));
  }
  tensor.name = std::move(name);
  file_.tensors.push_back(std::move(tensor));
  return {};
}

void Mapping::put_values(std::string name, std::vector<float> values) {
  Tensor tensor;
  tensor.name = std::move(name);
  tensor.shape = {values.size()};
  tensor.source = static_cast<uint32_t>(file_.sources.size());
  tensor.bytes = values.size() * sizeof(float);
  std::vector<std::byte> bytes(static_cast<size_t>(tensor.bytes));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  file_.sources.push_back(io::from_memory(name_, std::move(bytes)));
  file_.tensors.push_back(std::move(tensor));
}

Result<void> Mapping::rename(const std::string& hf, std::string gguf, How how) {
  const RawTensor* tensor = find(hf);
  if (!tensor) return {};
  Strided view(*tensor, *file_.sources[tensor->source]);
  std::vector<uint64_t> shape = tensor->shape;
  if (shape.empty()) shape = {1};
  switch (how) {
    case How::kSame:
      break;
    case How::kPlusOne:
      view.plus(1);
      break;
    case How::kMinusExp:
      view.minus_exp();
      break;
    case How::kSoftplus:
      view.softplus();
      break;
    case How::kSqueeze:
      if (shape.size() == 3 && shape[1] == 1) shape = {shape[0], shape[2]};
      break;
    case How::kPairsQ:
    case How::kPairsK: {
      const uint64_t heads = how == How::kPairsQ ? n_heads : n_kv_heads;
      if (heads == 0 || shape[0] % (2 * heads) != 0) {
        return base::fail(ErrorCode::kCorrupt,
                          fmt::format("Tensor \"{}\" has {} rows, which {} heads do not share.", hf,
                                      shape[0], heads));
      }
      view.split(0, {heads, 2, shape[0] / heads / 2}).swap(1, 2);
      break;
    }
  }
  std::vector<Strided> parts;
  parts.push_back(std::move(view));
  return put(std::move(gguf), std::move(parts), std::move(shape));
}

Result<void> Mapping::rename_layer(uint32_t layer, const std::string& hf_prefix,
                                   std::span<const Rename> renames) {
  for (const Rename& r : renames) {
    for (const char* part : {".weight", ".bias"}) {
      PUNA_TRY(rename(hf_prefix + std::string(r.hf) + part,
                      layer_name(layer, std::string(r.gguf) + part), r.how));
    }
  }
  return {};
}

Result<void> Mapping::stack_experts(const std::string& hf_prefix, const std::string& suffix,
                                    uint64_t n_experts, std::string gguf) {
  std::vector<Strided> parts;
  for (uint64_t e = 0; e < n_experts; ++e) {
    PUNA_TRY(Strided part, view(fmt::format("{}.{}.{}", hf_prefix, e, suffix)));
    parts.push_back(std::move(part));
  }
  if (parts.empty())
    return base::fail(ErrorCode::kCorrupt, fmt::format("There are no experts of \"{}\".", gguf));
  std::vector<uint64_t> shape = parts.front().tensor().shape;
  shape.insert(shape.begin(), n_experts);
  return put(std::move(gguf), std::move(parts), std::move(shape));
}

void Mapping::ignore(std::string_view prefix) {
  for (size_t i = 0; i < raw_.tensors.size(); ++i) {
    if (raw_.tensors[i].name.starts_with(prefix)) used_[i] = true;
  }
}

Result<ModelFile> Mapping::finish() {
  for (size_t i = 0; i < used_.size(); ++i) {
    if (used_[i] || raw_.tensors[i].name.ends_with("rotary_emb.inv_freq")) continue;
    return base::fail(
        ErrorCode::kUnsupported,
        fmt::format("Tensor \"{}\" of shape [{}] is not known for models of the architecture {}.",
                    raw_.tensors[i].name, fmt::join(raw_.tensors[i].shape, ", "), architecture_));
  }
  std::vector<std::string_view> names;
  for (const Tensor& tensor : file_.tensors) names.push_back(tensor.name);
  std::ranges::sort(names);
  const auto twice = std::ranges::adjacent_find(names);
  if (twice != names.end()) {
    return base::fail(
        ErrorCode::kCorrupt,
        fmt::format("{} has tensors for \"{}\" in two forms, fused and apart.", name_, *twice));
  }
  file_.index();
  return std::move(file_);
}

}  // namespace puna::formats::hf
