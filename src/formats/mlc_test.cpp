#include "formats/mlc.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

using namespace puna;
using namespace puna::formats;

namespace {

std::string index_of(std::string_view record, std::string_view shard = "params_shard_0.bin",
                     std::string_view format = "raw-shard", int64_t bytes = 64) {
  return fmt::format(
      R"({{"metadata":{{}},"records":[{{"dataPath":"{}","format":"{}","nbytes":{},"records":[{}]}}]}})",
      shard, format, bytes, record);
}

std::string record_of(std::string_view shape, std::string_view dtype, std::string_view format,
                      int64_t bytes, int64_t offset) {
  return fmt::format(
      R"({{"name":"t","shape":{},"dtype":"{}","format":"{}","nbytes":{},"byteOffset":{}}})", shape,
      dtype, format, bytes, offset);
}

}  // namespace

TEST_CASE("MLC's index says where each tensor lies") {
  const auto index = parse_mlc_index(index_of(record_of("[2,4]", "float32", "f32-to-bf16", 16, 8)));
  REQUIRE_MESSAGE(index.has_value(), index.error().text());
  REQUIRE(index->shards.size() == 1);
  CHECK(index->shards[0].file == "params_shard_0.bin");
  REQUIRE(index->tensors.size() == 1);
  CHECK(index->tensors[0].type == quant::Type::kBf16);
  CHECK(index->tensors[0].offset == 8);
  CHECK(index->tensors[0].shape == std::vector<uint64_t>{2, 4});
}

TEST_CASE("hostile indexes of MLC are refused with what is wrong") {
  const std::pair<std::string, std::string_view> cases[] = {
      {index_of(record_of("[2,4]", "float32", "raw", 16, 0)), "has 16 bytes where"},
      {index_of(record_of("[2,4]", "float16", "raw", 16, 56)), "lies outside its shard of 64"},
      {index_of(record_of("[2,4]", "float16", "raw", 16, -8)), "lies outside its shard of 64"},
      {index_of(record_of("[2,4]", "float16", "raw", 16, INT64_MAX)), "lies outside its shard"},
      {index_of(record_of("[4294967296,4294967296]", "float16", "raw", 16, 0)),
       "has a shape beyond all sizes"},
      {index_of(record_of("[0,4]", "float16", "raw", 0, 0)), "has 0 in its shape"},
      {index_of(record_of("[2,4]", "int3", "raw", 16, 0)), "unknown dtype \"int3\""},
      {index_of(record_of("[2,4]", "float16", "zip", 16, 0)), "unknown format \"zip\""},
      {index_of(record_of("7", "float16", "raw", 16, 0)), "has no list \"shape\""},
      {index_of("", "../x"), "has a name that is no file's"},
      {index_of("", "x", "tar"), "has the format \"tar\""},
      {index_of("", "x", "raw-shard", -1), "-1 bytes"},
      {index_of("7"), "name"},
      {"{}", "has no list \"records\""},
      {"{", "malformed"},
  };
  for (const auto& [text, message] : cases) {
    CAPTURE(text);
    const auto index = parse_mlc_index(text);
    REQUIRE(!index.has_value());
    CHECK_MESSAGE(index.error().text().find(message) != std::string::npos, index.error().text());
  }
}

TEST_CASE("MLC's config reads as config.json, and what is not supported is named") {
  const auto config = parse_mlc_config(
      R"({"model_type":"llama","quantization":"q4f16_1","model_config":{"hidden_size":8,
          "position_embedding_base":500000,"context_window_size":4096,"sliding_window_size":-1}})");
  REQUIRE_MESSAGE(config.has_value(), config.error().text());
  CHECK(config->real("rope_theta").value() == 500000);
  CHECK(config->count("max_position_embeddings").value() == 4096);
  CHECK(!config->has("sliding_window"));
  const std::pair<const char*, const char*> cases[] = {
      {R"({"model_type":"frog","quantization":"q4f16_1","model_config":{}})",
       "model type \"frog\" are not supported (supported: llama"},
      {R"({"model_type":"llama","quantization":"q3f16_1","model_config":{}})",
       "quantization \"q3f16_1\" is not supported (supported: q4f16_1"},
      {R"({"model_type":"llama","quantization":"q4f16_1"})", "has no object \"model_config\""},
  };
  for (const auto& [text, message] : cases) {
    const auto refused = parse_mlc_config(text);
    REQUIRE(!refused.has_value());
    CHECK_MESSAGE(refused.error().text().find(message) != std::string::npos,
                  refused.error().text());
  }
}
