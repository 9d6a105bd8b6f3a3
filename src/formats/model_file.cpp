#include "formats/model_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

namespace puna::formats {

namespace {

using base::ErrorCode;

std::unexpected<base::Error> missing(const ModelFile& file, std::string_view key) {
  return base::fail(ErrorCode::kNotFound,
                    fmt::format("The metadata key \"{}\" is missing in {}.", key, file.name));
}

}  // namespace

std::string Tensor::type_name() const {
  if (!unknown_type) return std::string(quant::info(type).name);
  std::string name(quant::gguf_type_name(*unknown_type));
  if (name == "unknown") return fmt::format("type {}", *unknown_type);
  for (char& c : name) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return name;
}

base::Error Tensor::unusable() const {
  if (!problem.empty())
    return {ErrorCode::kCorrupt, fmt::format("Tensor \"{}\" {}.", name, problem), {}};
  const uint32_t id = unknown_type.value_or(quant::info(type).gguf_id);
  return {ErrorCode::kUnsupported,
          fmt::format("Tensor \"{}\" has type {} ({}), which is not supported.", name,
                      quant::gguf_type_name(id), id),
          {}};
}

uint64_t Tensor::rows() const {
  uint64_t n = 1;
  for (size_t i = 0; i + 1 < shape.size(); ++i) n *= shape[i];
  return n;
}

const Value* ModelFile::find(std::string_view key) const {
  for (const auto& [name, value] : metadata) {
    if (name == key) return &value;
  }
  return nullptr;
}

void ModelFile::index() {
  tensor_index_.clear();
  tensor_index_.reserve(tensors.size());
  for (size_t i = 0; i < tensors.size(); ++i) {
    tensor_index_.emplace_back(std::hash<std::string_view>{}(tensors[i].name),
                               static_cast<uint32_t>(i));
  }
  std::sort(tensor_index_.begin(), tensor_index_.end());
}

const Tensor* ModelFile::find_tensor(std::string_view tensor_name) const {
  const uint64_t hash = std::hash<std::string_view>{}(tensor_name);
  auto it = std::lower_bound(tensor_index_.begin(), tensor_index_.end(),
                             std::pair<uint64_t, uint32_t>(hash, 0));
  for (; it != tensor_index_.end() && it->first == hash; ++it) {
    if (tensors[it->second].name == tensor_name) return &tensors[it->second];
  }
  return nullptr;
}

base::Result<std::string> ModelFile::get_string(std::string_view key) const {
  const Value* value = find(key);
  return value ? as_string(key, *value) : missing(*this, key);
}
base::Result<uint64_t> ModelFile::get_uint(std::string_view key) const {
  const Value* value = find(key);
  return value ? as_uint(key, *value) : missing(*this, key);
}
base::Result<double> ModelFile::get_float(std::string_view key) const {
  const Value* value = find(key);
  return value ? as_float(key, *value) : missing(*this, key);
}
base::Result<bool> ModelFile::get_bool(std::string_view key) const {
  const Value* value = find(key);
  return value ? as_bool(key, *value) : missing(*this, key);
}
base::Result<std::string> ModelFile::get_string(std::string_view key,
                                                std::string_view otherwise) const {
  const Value* value = find(key);
  return value ? as_string(key, *value) : std::string(otherwise);
}
base::Result<uint64_t> ModelFile::get_uint(std::string_view key, uint64_t otherwise) const {
  const Value* value = find(key);
  return value ? as_uint(key, *value) : otherwise;
}
base::Result<double> ModelFile::get_float(std::string_view key, double otherwise) const {
  const Value* value = find(key);
  return value ? as_float(key, *value) : otherwise;
}
base::Result<bool> ModelFile::get_bool(std::string_view key, bool otherwise) const {
  const Value* value = find(key);
  return value ? as_bool(key, *value) : otherwise;
}

}  // namespace puna::formats
