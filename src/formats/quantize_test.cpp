// Writing models: the writer against the reader, and quantize over a small model.
#include "formats/quantize.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "formats/gguf_test_util.h"
#include "formats/gguf_writer.h"

using namespace puna;
using namespace puna::formats;

namespace {

std::string random_f32(size_t n, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, 0.05f);
  std::string bytes(n * 4, '\0');
  for (size_t i = 0; i < n; ++i) {
    const float v = normal(random);
    std::memcpy(bytes.data() + 4 * i, &v, 4);
  }
  return bytes;
}

std::string model_bytes() {
  GgufBuilder builder;
  builder.text("general.architecture", "llama")
      .u32("llama.block_count", 8)
      .u32("llama.attention.head_count", 4);
  builder.u32("general.alignment", 32)
      .u32("split.count", 1)
      .number("big", GgufValueType::kU64, uint64_t{1} << 40);
  builder.number("exact", GgufValueType::kF64, 0.1).number("rough", GgufValueType::kF32, 0.1f);
  builder.numbers<int32_t>("signed", GgufValueType::kI32, {-1, 2});
  builder.text("tokenizer.ggml.model", "llama").texts("tokenizer.ggml.tokens", {"a", "b", "c"});
  builder.numbers<float>("tokenizer.ggml.scores", GgufValueType::kF32, {0, -1, -2});
  builder.tensor("token_embd.weight", {256, 3}, 0, random_f32(768, 1));
  builder.tensor("output.weight", {256, 3}, 0, random_f32(768, 2));
  builder.tensor("blk.0.attn_norm.weight", {256}, 0, random_f32(256, 3));
  builder.tensor("blk.0.ffn_down.weight", {512, 2}, 0, random_f32(1024, 4));
  builder.tensor("blk.3.ffn_down.weight", {512, 2}, 0, random_f32(1024, 5));
  builder.tensor("blk.3.attn_k.weight", {96, 5}, 0, random_f32(480, 6));
  return builder.build();
}

std::vector<float> decode(ModelFile& file, std::string_view name) {
  const Tensor* tensor = file.find_tensor(name);
  REQUIRE(tensor);
  std::vector<float> out(tensor->rows() * tensor->columns());
  const auto bytes = file.sources[tensor->source]->mapped().subspan(tensor->offset, tensor->bytes);
  quant::info(tensor->type).decode(bytes.data(), out.data(), out.size());
  return out;
}

struct Written {
  std::vector<std::byte> bytes;
  ModelFile file;
};

Written write_as(const std::string& in, std::string_view mix, bool pure = false) {
  auto model = open_now(in);
  if (!model) FAIL(model.error().text());
  Written out;
  const auto sink = io::to_memory(out.bytes);
  base::ThreadPool pool(2);
  const auto done = base::run_until(
      quantize(*model, {.mix = quant::find_mix(mix), .pure = pure}, *sink, pool), [] {});
  if (!done) FAIL(done.error().text());
  auto file = open_now(io::from_memory("out.gguf", std::span(std::as_const(out.bytes))));
  if (!file) FAIL(file.error().text());
  out.file = std::move(*file);
  return out;
}

}  // namespace

TEST_CASE(
    "metadata and vocabulary survive being written, and what described the old file does not") {
  const Written out = write_as(model_bytes(), "q8_0");
  const ModelFile& file = out.file;
  CHECK(file.get_string("general.architecture").value() == "llama");
  CHECK(file.get_uint("big").value() == uint64_t{1} << 40);
  CHECK(file.get_float("exact").value() == 0.1);
  CHECK(file.get_float("rough").value() == double{0.1f});
  CHECK(std::get<std::vector<int64_t>>(*file.find("signed")) == std::vector<int64_t>{-1, 2});
  CHECK(file.vocabulary.tokens == std::vector<std::string>{"a", "b", "c"});
  CHECK(file.vocabulary.scores == std::vector<float>{0, -1, -2});
  CHECK(file.get_uint("general.file_type").value() == 7);
  CHECK(file.get_uint("general.quantization_version").value() == 2);
  CHECK(file.find("split.count") == nullptr);
}

TEST_CASE("tensors get the types of the mix and stay near their values") {
  const std::string in = model_bytes();
  auto model = open_now(in);
  Written out = write_as(in, "q4_k_m");
  REQUIRE(out.file.tensors.size() == 6);
  const auto type = [&](std::string_view name) { return out.file.find_tensor(name)->type; };
  CHECK(type("token_embd.weight") == quant::Type::kQ4_K);
  CHECK(type("output.weight") == quant::Type::kQ6_K);
  CHECK(type("blk.0.attn_norm.weight") == quant::Type::kF32);
  CHECK(type("blk.0.ffn_down.weight") == quant::Type::kQ6_K);
  CHECK(type("blk.3.ffn_down.weight") == quant::Type::kQ6_K);
  CHECK(type("blk.3.attn_k.weight") == quant::Type::kQ5_0);
  for (const Tensor& tensor : out.file.tensors) {
    CAPTURE(tensor.name);
    const std::vector<float> a = decode(*model, tensor.name);
    const std::vector<float> b = decode(out.file, tensor.name);
    double error = 0;
    double power = 0;
    for (size_t i = 0; i < a.size(); ++i) {
      error += std::pow(a[i] - b[i], 2);
      power += std::pow(a[i], 2);
    }
    CHECK(std::sqrt(error / power) < (tensor.type == quant::Type::kF32 ? 1e-12 : 0.09));
  }
}

TEST_CASE("pure mixes give every matrix the one type, where it fits") {
  const Written out = write_as(model_bytes(), "q2_k", /*pure=*/true);
  CHECK(out.file.find_tensor("output.weight")->type == quant::Type::kQ2_K);
  CHECK(out.file.find_tensor("token_embd.weight")->type == quant::Type::kQ2_K);
  CHECK(out.file.find_tensor("blk.3.attn_k.weight")->type == quant::Type::kQ4_0);  // rows of 96
  CHECK(out.file.find_tensor("blk.0.attn_norm.weight")->type == quant::Type::kF32);
}

TEST_CASE("writing a model in its own types copies it bit for bit") {
  const std::string in = model_bytes();
  auto model = open_now(in);
  Written out = write_as(in, "f32");
  for (const Tensor& tensor : model->tensors)
    CHECK(decode(*model, tensor.name) == decode(out.file, tensor.name));
  const std::string again(reinterpret_cast<const char*>(out.bytes.data()), out.bytes.size());
  CHECK(write_as(again, "f32").bytes == out.bytes);
}

TEST_CASE("a bound of a product may be infinite, no other value may be, and none is not a number") {
  const auto with = [](std::string_view name, float value) {
    const std::vector<float> values = {value};
    return GgufBuilder()
        .text("general.architecture", "clip")
        .tensor(std::string(name), {1}, 0,
                std::string(reinterpret_cast<const char*>(values.data()), sizeof(float)))
        .build();
  };
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  Written out = write_as(with("v.blk.0.ffn_up.input_min", -kInfinity), "f16");
  CHECK(decode(out.file, "v.blk.0.ffn_up.input_min") == std::vector<float>{-kInfinity});
  const auto refused = [&](const std::string& in) {
    auto model = open_now(in);
    REQUIRE(model.has_value());
    std::vector<std::byte> bytes;
    const auto sink = io::to_memory(bytes);
    base::ThreadPool pool(1);
    const auto done = base::run_until(quantize(*model, {}, *sink, pool), [] {});
    return !done && done.error().code == base::ErrorCode::kCorrupt;
  };
  CHECK(refused(with("v.std_bias", kInfinity)));
  CHECK(refused(with("v.blk.0.ffn_up.input_min", std::numeric_limits<float>::quiet_NaN())));
}

TEST_CASE("quantizing stops when asked to, and hands read errors on") {
  const std::string in = model_bytes();
  auto model = open_now(in);
  std::vector<std::byte> bytes;
  const auto sink = io::to_memory(bytes);
  base::ThreadPool pool(1);
  int calls = 0;
  const auto stopped =
      base::run_until(quantize(*model, {.mix = quant::find_mix("q4_0")}, *sink, pool,
                               [&](const QuantizeProgress&) { return ++calls < 3; }),
                      [] {});
  REQUIRE(!stopped);
  CHECK(stopped.error().code == base::ErrorCode::kCancelled);

  // The pairs are read first, then two matrices.
  const auto n_pairs = static_cast<int>(model->stored_metadata.size());
  for (const auto& [fail_at, part] :
       {std::pair(1, "the metadata"), std::pair(n_pairs + 2, "blk.0.attn_norm.weight")}) {
    auto again = open_now(in);
    again->sources[0] = io::failing(std::move(again->sources[0]), fail_at);
    const auto failed =
        base::run_until(quantize(*again, {.mix = quant::find_mix("q4_0")}, *sink, pool), [] {});
    REQUIRE(!failed);
    CHECK(failed.error().code == base::ErrorCode::kIo);
    CHECK(failed.error().text().find(part) != std::string::npos);
  }
}

TEST_CASE("a model that is no GGUF file gets the pairs of its metadata and vocabulary") {
  const std::string in = model_bytes();
  auto model = open_now(in);
  model->stored_metadata.clear();
  const auto pairs = base::run_until(gguf_pairs(*model), [] {}).value();
  const auto kind_of = [&](std::string_view key) {
    const auto it = std::ranges::find(pairs, key, &GgufPair::key);
    return it == pairs.end() ? -1 : int{it->value[0]};
  };
  CHECK(kind_of("llama.block_count") == static_cast<int>(GgufValueType::kU32));
  CHECK(kind_of("big") == static_cast<int>(GgufValueType::kU64));
  CHECK(kind_of("exact") == static_cast<int>(GgufValueType::kF64));
  CHECK(kind_of("rough") == static_cast<int>(GgufValueType::kF32));
  CHECK(kind_of("tokenizer.ggml.tokens") == static_cast<int>(GgufValueType::kArray));
  CHECK(kind_of("tokenizer.ggml.merges") == -1);
  CHECK(kind_of("split.count") == -1);
}

TEST_CASE("the writer refuses bytes beyond a tensor and an incomplete file") {
  std::vector<std::byte> bytes;
  const auto sink = io::to_memory(bytes);
  GgufWriter writer(*sink);
  REQUIRE(writer.begin({}, {{"a", 0, {2}, 8}, {"none", 0, {0}, 0}, {"b", 0, {1}, 4}}));
  const std::vector<std::byte> data(9);
  CHECK(!writer.write(data));
  CHECK(writer.write(std::span(data).first(8)));
  const auto incomplete = writer.finish();
  REQUIRE(!incomplete);
  CHECK(incomplete.error().message.find("\"b\"") != std::string::npos);
  CHECK(writer.write(std::span(data).first(4)));
  CHECK(writer.finish());
}
