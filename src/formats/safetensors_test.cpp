#include "formats/safetensors.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cstring>

using namespace puna;
using namespace puna::formats;

namespace {

// A file of this header and as many bytes of data.
std::vector<std::byte> file_of(std::string_view header, size_t n_data) {
  std::vector<std::byte> bytes(8 + header.size() + n_data);
  const uint64_t n = header.size();
  std::memcpy(bytes.data(), &n, 8);
  std::memcpy(bytes.data() + 8, header.data(), header.size());
  return bytes;
}

base::Result<std::vector<RawTensor>> load(std::vector<std::byte> bytes) {
  auto source = io::from_memory("test.safetensors", std::move(bytes));
  return base::run_until(load_safetensors(*source), [] {});
}

constexpr std::string_view kTwo =
    R"({"__metadata__":{"format":"pt"},"b":{"dtype":"BF16","shape":[2,3],"data_offsets":[8,20]},)"
    R"("a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";

}  // namespace

TEST_CASE("a safetensors header lists tensors in the order of their bytes") {
  const auto tensors = load(file_of(kTwo, 20));
  REQUIRE_MESSAGE(tensors.has_value(), tensors.error().text());
  REQUIRE(tensors->size() == 2);
  CHECK((*tensors)[0].name == "a");
  CHECK((*tensors)[0].type == quant::Type::kF32);
  CHECK((*tensors)[0].offset == 8 + kTwo.size());
  CHECK((*tensors)[1].shape == std::vector<uint64_t>{2, 3});
  CHECK((*tensors)[1].type == quant::Type::kBf16);
  CHECK((*tensors)[1].bytes == 12);
}

TEST_CASE("a safetensors file cut at any byte is refused") {
  const std::vector<std::byte> whole = file_of(kTwo, 20);
  for (size_t n = 0; n < whole.size(); ++n) {
    const auto tensors = load({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(n)});
    REQUIRE(!tensors.has_value());
    CHECK(tensors.error().code == base::ErrorCode::kCorrupt);
  }
}

TEST_CASE("hostile safetensors headers are refused with what is wrong") {
  const auto one = [](std::string_view dtype, std::string_view shape, std::string_view offsets) {
    return fmt::format(R"({{"a":{{"dtype":{},"shape":{},"data_offsets":{}}}}})", dtype, shape,
                       offsets);
  };
  const std::pair<std::string, std::string_view> cases[] = {
      {one(R"("F32")", "[2]", "[0,9]"), "outside the 8 bytes of data"},
      {one(R"("F32")", "[2]", "[8,0]"), "outside the 8 bytes of data"},
      {one(R"("F32")", "[2]", "[0]"), "outside the 8 bytes of data"},
      {one(R"("F32")", "[2]", "[-1,7]"), "has -1 in its list \"data_offsets\""},
      {one(R"("F32")", "[3]", "[0,8]"),
       "has 8 bytes of data where its shape and dtype F32 take 12"},
      {one(R"("F32")", "[4294967296,4294967296]", "[0,8]"), "has a shape beyond all sizes"},
      {one(R"("F32")", "[9223372036854775807]", "[0,8]"), "has a shape beyond all sizes"},
      {one(R"("F32")", "[2.5]", "[0,8]"), "has 2.5 in its list \"shape\""},
      {one(R"("F32")", "{}", "[0,8]"), "has no list \"shape\""},
      {one(R"("Q4")", "[2]", "[0,8]"), "has the unknown dtype \"Q4\""},
      {one("4", "[2]", "[0,8]"), "has no \"dtype\""},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
       R"("b":{"dtype":"F16","shape":[2],"data_offsets":[2,6]}})",
       "Tensor \"b\" overlaps \"a\""},
      {R"({"a":7})", "has no \"dtype\""},
      {"[]", "The header is array, not an object"},
      {"{", "malformed"},
  };
  for (const auto& [header, message] : cases) {
    CAPTURE(header);
    const auto tensors = load(file_of(header, 8));
    REQUIRE(!tensors.has_value());
    CHECK(tensors.error().code == base::ErrorCode::kCorrupt);
    CHECK_MESSAGE(tensors.error().text().find(message) != std::string::npos,
                  tensors.error().text());
  }
}

TEST_CASE("a header that is longer than the file or than allowed is refused") {
  std::vector<std::byte> bytes = file_of("{}", 0);
  for (const uint64_t n : {uint64_t{3}, kSafetensorsMaxHeaderBytes + 1, UINT64_MAX}) {
    std::memcpy(bytes.data(), &n, 8);
    const auto tensors = load(bytes);
    REQUIRE(!tensors.has_value());
    CHECK(tensors.error().message.find(std::to_string(n)) != std::string::npos);
  }
}

TEST_CASE("an index names its shards once each, and none outside the folder") {
  const auto shards = parse_safetensors_index(R"({"weight_map":{"x":"b","y":"a","z":"b"}})");
  REQUIRE(shards.has_value());
  CHECK(*shards == std::vector<std::string>{"a", "b"});
  for (const char* text : {R"({"weight_map":{"x":"../a"}})", R"({"weight_map":{"x":".."}})",
                           R"({"weight_map":{"x":7}})", R"({"weight_map":{}})", "{}", "["})
    CHECK(!parse_safetensors_index(text).has_value());
}
