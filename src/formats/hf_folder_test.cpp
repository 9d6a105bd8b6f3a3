#include "formats/hf_folder.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cstring>
#include <map>
#include <vector>

#include "formats/gguf.h"
#include "formats/open.h"

using namespace puna;
using namespace puna::formats;

namespace {

using Files = std::map<std::string, std::string>;

base::Result<ModelFile> load(const Files& files) {
  const OpenPart open =
      [&files](const std::string& path) -> base::Result<std::unique_ptr<io::ByteSource>> {
    const auto found = files.find(path.substr(std::string_view("dir/tiny/").size()));
    if (found == files.end())
      return base::fail(base::ErrorCode::kNotFound,
                        fmt::format("The file \"{}\" does not exist.", path));
    const auto bytes = std::as_bytes(std::span(found->second));
    return io::from_memory(path, std::vector<std::byte>(bytes.begin(), bytes.end()));
  };
  return base::run_until(load_folder({"dir/tiny/", open}), [] {});
}

std::string error_of(const Files& files) {
  const auto file = load(files);
  REQUIRE(!file.has_value());
  return file.error().text();
}

// f32 tensors of the values 0, 1, 2, ..
std::string safetensors(const std::vector<std::pair<std::string, std::vector<uint64_t>>>& tensors) {
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

constexpr std::string_view kConfig = R"({
  "model_type": "llama", "num_hidden_layers": 1, "hidden_size": 8, "intermediate_size": 4,
  "num_attention_heads": 2, "num_key_value_heads": 1, "max_position_embeddings": 64,
  "rms_norm_eps": 1e-05, "vocab_size": 3, "rope_theta": 10000, "tie_word_embeddings": true)";

const std::vector<std::pair<std::string, std::vector<uint64_t>>> kTensors = {
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

Files folder(std::string_view more = "") {
  return {{"config.json", fmt::format("{}{}}}", kConfig, more)},
          {"model.safetensors", safetensors(kTensors)}};
}

float first_of_row(const ModelFile& file, const char* name, uint64_t row) {
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

}  // namespace

TEST_CASE("a folder of Llama weights reads as its GGUF file would") {
  const auto file = load(folder());
  REQUIRE_MESSAGE(file.has_value(), file.error().text());
  CHECK(file->get_string("general.architecture").value() == "llama");
  CHECK(file->get_string("general.name").value() == "tiny");
  CHECK(file->get_uint("llama.block_count").value() == 1);
  CHECK(file->get_uint("llama.attention.head_count_kv").value() == 1);
  CHECK(file->get_float("llama.attention.layer_norm_rms_epsilon").value() == double{1e-5f});
  CHECK(file->tensors.size() == kTensors.size());
  CHECK(file->find_tensor("output.weight") == nullptr);  // tied
  CHECK(file->find_tensor("blk.0.ffn_down.weight")->shape == std::vector<uint64_t>{8, 4});
  // Rows of q, by head of four: 0 2 1 3.
  CHECK(first_of_row(*file, "blk.0.attn_q.weight", 1) == 2 * 8);
  CHECK(first_of_row(*file, "blk.0.attn_q.weight", 2) == 1 * 8);
  CHECK(first_of_row(*file, "blk.0.attn_q.weight", 5) == 6 * 8);
  CHECK(first_of_row(*file, "blk.0.attn_v.weight", 1) == 8);
}

TEST_CASE("bare infinities of Python's json read as absent") {
  CHECK(load(folder(R"(, "time_step_limit": [0.0, Infinity], "x": -Infinity, "y": "\"NaN\"")"))
            .has_value());
}

TEST_CASE("what a folder lacks is named") {
  Files files = folder();
  files.erase("config.json");
  CHECK(error_of(files).find("neither config.json (Hugging Face) nor mlc-chat-config.json") !=
        std::string::npos);
  files = folder();
  files.erase("model.safetensors");
  CHECK(error_of(files).find("neither model.safetensors nor model.safetensors.index.json") !=
        std::string::npos);
  files["model.safetensors.index.json"] = R"({"weight_map":{"x":"part-1.safetensors"}})";
  CHECK(error_of(files).find("\"dir/tiny/part-1.safetensors\" does not exist") !=
        std::string::npos);
}

TEST_CASE("an index of shards takes its tensors from all of them") {
  Files files = folder();
  const std::vector half(kTensors.begin(), kTensors.begin() + 5);
  const std::vector rest(kTensors.begin() + 5, kTensors.end());
  files.erase("model.safetensors");
  files["a.safetensors"] = safetensors(half);
  files["b.safetensors"] = safetensors(rest);
  files["model.safetensors.index.json"] =
      R"({"weight_map":{"x":"a.safetensors","y":"b.safetensors"}})";
  const auto file = load(files);
  REQUIRE_MESSAGE(file.has_value(), file.error().text());
  CHECK(file->tensors.size() == kTensors.size());
  files["b.safetensors"] = safetensors(kTensors);
  CHECK(error_of(files).find("is in the folder twice") != std::string::npos);
}

TEST_CASE("options that are not supported are refused by name") {
  const std::pair<const char*, const char*> cases[] = {
      {R"(, "quantization_config": {"quant_method": "gptq"})", "quantized by \"gptq\""},
      {R"(, "quantization_config": {"quant_method": "awq"})", "quantized by \"awq\""},
      {R"(, "quantization_config": {"quant_method": "fp8"})", "quantized by \"fp8\""},
      {R"(, "rope_scaling": {"type": "dynamic", "factor": 2.0})", "rope type \"dynamic\""},
      {R"(, "rope_scaling": {"rope_type": "longrope"})", "rope type \"longrope\""},
      {R"(, "rope_scaling": 7)", "The key \"rope_scaling\" of config.json is integer"},
      {R"(, "hidden_act": "relu")", "The key \"hidden_act\" of config.json is \"relu\""},
      {R"(, "hidden_size": -8)", "The key \"hidden_size\" of config.json is -8"},
      {R"(, "num_hidden_layers": 1000000)", "\"num_hidden_layers\" of config.json is 1000000"},
      {R"(, "num_attention_heads": 3)", "\"model.layers.0.self_attn.q_proj.weight\" has 8 rows"},
  };
  for (const auto& [more, message] : cases) {
    CAPTURE(more);
    const std::string text = error_of(folder(more));
    CHECK_MESSAGE(text.find(message) != std::string::npos, text);
  }
  Files files = folder(R"(, "model_type": "frog")");
  const std::string text = error_of(files);
  CHECK_MESSAGE(text.find("model type \"frog\" of config.json is not supported (supported: bert") !=
                    std::string::npos,
                text);
}

TEST_CASE("a tensor that no name is known for is refused") {
  auto tensors = kTensors;
  tensors.emplace_back("model.layers.0.self_attn.extra.weight", std::vector<uint64_t>{2, 2});
  Files files = folder();
  files["model.safetensors"] = safetensors(tensors);
  CHECK(error_of(files).find("\"model.layers.0.self_attn.extra.weight\" of shape [2, 2] is not "
                             "known") != std::string::npos);
}
