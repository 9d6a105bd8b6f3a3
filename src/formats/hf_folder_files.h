// Folders of Hugging Face for tests, made of strings.
#pragma once

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "formats/hf_folder.h"
#include "formats/open.h"

namespace puna::formats::test {

using Files = std::map<std::string, std::string>;

inline OpenPart opener(const Files& files) {
  return [&files](const std::string& path) -> base::Result<std::unique_ptr<io::ByteSource>> {
    const auto found = files.find(path.substr(std::string_view("dir/tiny/").size()));
    if (found == files.end())
      return base::fail(base::ErrorCode::kNotFound,
                        fmt::format("The file \"{}\" does not exist.", path));
    const auto bytes = std::as_bytes(std::span(found->second));
    return io::from_memory(path, std::vector<std::byte>(bytes.begin(), bytes.end()));
  };
}

inline base::Result<ModelFile> load_files(const Files& files) {
  return base::run_until(load_folder({"dir/tiny/", opener(files)}), [] {});
}

inline std::string error_of(const Files& files) {
  const auto file = load_files(files);
  REQUIRE(!file.has_value());
  return file.error().text();
}

// f32 tensors of the values 0, 1, 2, ..
inline std::string safetensors(
    const std::vector<std::pair<std::string, std::vector<uint64_t>>>& tensors) {
  std::string header = "{", data;
  for (const auto& [name, shape] : tensors) {
    const size_t begin = data.size();
    uint64_t n = 1;
    std::string dims;
    for (const uint64_t d : shape) {
      n *= d;
      dims += (dims.empty() ? "" : ",") + std::to_string(d);
    }
    for (uint64_t i = 0; i < n; ++i) {
      const auto v = static_cast<float>(i);
      data.append(reinterpret_cast<const char*>(&v), 4);
    }
    header += fmt::format(R"({}"{}":{{"dtype":"F32","shape":[{}],"data_offsets":[{},{}]}})",
                          header.size() > 1 ? "," : "", name, dims, begin, data.size());
  }
  header += "}";
  const uint64_t n = header.size();
  return std::string(reinterpret_cast<const char*>(&n), 8) + header + data;
}

inline constexpr std::string_view kConfig = R"({
  "model_type": "llama", "num_hidden_layers": 1, "hidden_size": 8, "intermediate_size": 4,
  "num_attention_heads": 2, "num_key_value_heads": 1, "max_position_embeddings": 64,
  "rms_norm_eps": 1e-05, "vocab_size": 3, "rope_theta": 10000, "tie_word_embeddings": true)";

inline const std::vector<std::pair<std::string, std::vector<uint64_t>>> kTensors = {
    {"model.embed_tokens.weight", {3, 8}},
    {"model.norm.weight", {8}},
    {"model.layers.0.input_layernorm.weight", {8}},
    {"model.layers.0.self_attn.q_proj.weight", {8, 8}},
    {"model.layers.0.self_attn.k_proj.weight", {4, 8}},
    {"model.layers.0.self_attn.v_proj.weight", {4, 8}},
    {"model.layers.0.self_attn.o_proj.weight", {8, 8}},
    {"model.layers.0.post_attention_layernorm.weight", {8}},
    {"model.layers.0.mlp.gate_proj.weight", {4, 8}},
    {"model.layers.0.mlp.up_proj.weight", {4, 8}},
    {"model.layers.0.mlp.down_proj.weight", {8, 4}}};

inline Files folder(std::string_view more = "") {
  return {{"config.json", fmt::format("{}{}}}", kConfig, more)},
          {"model.safetensors", safetensors(kTensors)}};
}

inline float first_of_row(const ModelFile& file, const char* name, uint64_t row) {
  const Tensor* tensor = file.find_tensor(name);
  REQUIRE(tensor != nullptr);
  std::byte bytes[4];
  const auto done = base::run_until(
      io::read(*file.sources[tensor->source], tensor->offset + row * tensor->columns() * 4, bytes),
      [] {});
  REQUIRE(done.has_value());
  float value;
  std::memcpy(&value, bytes, 4);
  return value;
}

}  // namespace puna::formats::test
