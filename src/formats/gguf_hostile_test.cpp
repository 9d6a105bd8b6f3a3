// Files made to hurt: each must give an error that names key or tensor and offset, and must not
// allocate what the file does not hold.
#include <doctest/doctest.h>

#include <algorithm>

#include "formats/allocation_count.h"
#include "formats/gguf_test_util.h"

using namespace puna;
using namespace puna::formats;
using base::ErrorCode;

namespace {

// Opens a bad file; checks that it costs no more memory than its length justifies.
base::Error refused(const std::string& bytes) {
  reset_allocated();
  auto file = open_now(bytes);
  CHECK(allocated() < 32 * bytes.size() + 20000);
  REQUIRE(!file);
  return file.error();
}

void check_refused(const GgufBuilder& builder, ErrorCode code,
                   std::initializer_list<std::string_view> parts) {
  const base::Error error = refused(builder.build());
  CAPTURE(error.text());
  CHECK(error.code == code);
  for (const std::string_view part : parts) {
    CAPTURE(std::string(part));
    CHECK(error.text().find(part) != std::string::npos);
  }
}

bool is_sound(const ModelFile& file, uint64_t file_bytes) {
  return std::all_of(file.tensors.begin(), file.tensors.end(), [&](const Tensor& tensor) {
    return tensor.offset <= file_bytes && tensor.bytes <= file_bytes - tensor.offset &&
           tensor.bytes == (tensor.unknown_type
                                ? 0
                                : quant::row_bytes(tensor.type, tensor.rows() * tensor.columns()));
  });
}

}  // namespace

TEST_CASE("the tests below see allocations") {
  if (!kCountsAllocations) return;
  const std::string bytes = tiny_gguf().build();
  reset_allocated();
  CHECK(open_error(bytes).empty());
  CHECK(allocated() > 1000);
}

TEST_CASE("a file cut off at any byte is refused") {
  const std::string bytes = tiny_gguf().build();
  // The last tensor's padding may be missing; some writers leave it out.
  for (size_t n = 0; n < bytes.size() - 28; ++n) {
    CAPTURE(n);
    const base::Error error = refused(bytes.substr(0, n));
    const bool told =
        error.code == ErrorCode::kCorrupt || (n < 4 && error.code == ErrorCode::kUnsupported);
    CHECK(told);
    CHECK(!error.message.empty());
  }
  CHECK(open_error(bytes.substr(0, bytes.size() - 28)).empty());
}

TEST_CASE("flipping any bits never breaks more than the file") {
  const std::string bytes = tiny_gguf().build();
  for (size_t i = 0; i < bytes.size(); ++i) {
    for (const int mask : {0x01, 0x02, 0x04, 0x08, 0x10, 0x20, 0x40, 0x80, 0xff}) {
      std::string bad = bytes;
      bad[i] = static_cast<char>(bad[i] ^ mask);
      reset_allocated();
      const auto file = open_now(bad);
      REQUIRE(allocated() < 32 * bytes.size() + 20000);
      if (file) REQUIRE(is_sound(*file, bad.size()));
    }
  }
}

TEST_CASE("eight bytes of ones anywhere never break more than the file") {
  const std::string bytes = tiny_gguf().build();
  for (size_t i = 0; i + 8 <= bytes.size(); ++i) {
    for (const char fill : {'\xff', '\x7f', '\x00'}) {
      std::string bad = bytes;
      bad.replace(i, 8, 8, fill);
      reset_allocated();
      const auto file = open_now(bad);
      REQUIRE(allocated() < 32 * bytes.size() + 20000);
      if (file) REQUIRE(is_sound(*file, bad.size()));
    }
  }
}

TEST_CASE("what is not GGUF, or a GGUF of another kind, is told apart") {
  CHECK(refused("").message == "test.gguf is empty.");
  CHECK(refused("PK\x03\x04 a zip archive").code == ErrorCode::kUnsupported);
  CHECK(refused("GG").code == ErrorCode::kUnsupported);
  GgufBuilder builder = tiny_gguf();
  builder.version = 1;
  check_refused(builder, ErrorCode::kUnsupported, {"version 1"});
  builder.version = 4;
  check_refused(builder, ErrorCode::kUnsupported, {"version 4"});
  builder.version = 0x03000000;
  check_refused(builder, ErrorCode::kUnsupported, {"big-endian"});
  builder.magic = 0x47475546;
  check_refused(builder, ErrorCode::kUnsupported, {"big-endian"});
}

TEST_CASE("absurd counts are refused before anything is allocated for them") {
  for (const int64_t extra : {int64_t{1}, int64_t{1000000000}, int64_t{1} << 62, int64_t{-4}}) {
    CAPTURE(extra);
    GgufBuilder builder;
    builder.u32("a", 1).f32("t", {4});
    builder.extra_pairs = extra;
    check_refused(builder, ErrorCode::kCorrupt, {"at byte"});
    builder.extra_pairs = 0;
    builder.extra_tensors = extra;
    check_refused(builder, ErrorCode::kCorrupt, {"at byte"});
  }
  for (const auto type :
       {GgufValueType::kU8, GgufValueType::kI64, GgufValueType::kString, GgufValueType::kBool}) {
    GgufBuilder builder;
    builder.pair("huge", GgufValueType::kArray, ByteString().type(type).put(uint64_t{1} << 61));
    check_refused(builder, ErrorCode::kCorrupt, {"\"huge\"", "left in the file", "at byte"});
  }
}

TEST_CASE("strings longer than the file are refused, in keys, values, lists and names") {
  GgufBuilder key;
  key.pair(std::string_view(), GgufValueType::kU32, ByteString());
  check_refused(key, ErrorCode::kCorrupt, {"empty", "at byte"});
  GgufBuilder value;
  value.pair("s", GgufValueType::kString, ByteString().put(~uint64_t{0}));
  check_refused(value, ErrorCode::kCorrupt, {"\"s\"", "18446744073709551615", "at byte"});
  GgufBuilder list;
  list.pair("l", GgufValueType::kArray,
            ByteString()
                .type(GgufValueType::kString)
                .put(uint64_t{2})
                .text("fine")
                .put(uint64_t{1} << 40));
  check_refused(list, ErrorCode::kCorrupt, {"\"l\"", "at byte"});
}

TEST_CASE("unknown and nested value types are refused by name") {
  GgufBuilder unknown;
  unknown.pair("odd", static_cast<GgufValueType>(13), ByteString().put(uint64_t{0}));
  check_refused(unknown, ErrorCode::kCorrupt, {"\"odd\"", "unknown value type 13", "at byte"});
  GgufBuilder item;
  item.pair("odd", GgufValueType::kArray,
            ByteString().put(uint32_t{99}).put(uint64_t{1}).put(uint64_t{0}));
  check_refused(item, ErrorCode::kCorrupt, {"\"odd\"", "unknown type 99"});
  GgufBuilder nested;
  nested.pair("deep", GgufValueType::kArray,
              ByteString().type(GgufValueType::kArray).put(uint64_t{1}).put(uint64_t{0}));
  check_refused(nested, ErrorCode::kUnsupported, {"\"deep\"", "array of arrays"});
  GgufBuilder boolean;
  boolean.number("b", GgufValueType::kBool, uint8_t{7});
  check_refused(boolean, ErrorCode::kCorrupt, {"\"b\"", "7"});
}

TEST_CASE("names that appear twice are refused") {
  GgufBuilder keys;
  keys.u32("twin", 1).u32("other", 1).u32("twin", 2);
  check_refused(keys, ErrorCode::kCorrupt, {"\"twin\"", "twice"});
  GgufBuilder tensors;
  tensors.f32("twin", {4}).f32("other", {4}).f32("twin", {4});
  check_refused(tensors, ErrorCode::kCorrupt, {"\"twin\"", "twice"});
  GgufBuilder unnamed;
  unnamed.f32("", {4});
  check_refused(unnamed, ErrorCode::kCorrupt, {"empty"});
}

TEST_CASE("tensors of types that are not supported are listed, and named when they are refused") {
  GgufBuilder builder;
  builder.tensor("w", {256}, 9, std::string(320, '\0'))
      .tensor("ids", {4}, 26, std::string(16, '\0'));
  builder.tensor("v", {4}, 12345, std::string(16, '\0')).f32("x", {4});
  const auto file = open_now(builder.build());
  REQUIRE(file.has_value());
  REQUIRE(file->tensors.size() == 4);
  CHECK(file->tensors[0].type_name() == "q8_1");
  CHECK(file->tensors[0].unsupported_type().message ==
        "Tensor \"w\" has type Q8_1 (9), which is not supported.");
  CHECK(file->tensors[1].type_name() == "i32");
  CHECK(file->tensors[2].type_name() == "type 12345");
  CHECK(file->tensors[2].unsupported_type().message ==
        "Tensor \"v\" has type unknown (12345), which is not supported.");
  CHECK_FALSE(file->tensors[3].unknown_type);
  CHECK(file->tensors[3].bytes == 16);
}

TEST_CASE("dimensions that overflow, vanish or do not fill blocks are refused") {
  constexpr uint64_t k32 = uint64_t{1} << 32;
  const auto refuse = [](const std::vector<uint64_t>& dimensions, uint32_t type,
                         std::initializer_list<std::string_view> parts) {
    GgufBuilder builder;
    builder.tensor("w", dimensions, type, std::string(64, '\0'));
    check_refused(builder, ErrorCode::kCorrupt, parts);
  };
  refuse({k32, k32}, 0, {"\"w\"", "overflow"});
  refuse({k32, k32, k32, k32}, 0, {"\"w\"", "overflow"});
  refuse({uint64_t{1} << 62, 2}, 0, {"\"w\"", "overflow"});
  refuse({uint64_t{1} << 62}, 0, {"\"w\"", "overflow"});
  refuse({uint64_t{1} << 40}, 0, {"\"w\"", "cut off"});
  refuse({4, 0}, 0, {"\"w\"", "dimension of 0"});
  refuse({48}, 2, {"\"w\"", "48", "q4_0"});
  refuse({1, 1, 1, 1, 1}, 0, {"\"w\"", "5 dimensions"});
}

TEST_CASE("tensors outside the file, misaligned or overlapping are refused") {
  GgufBuilder outside;
  outside.tensor_at("w", {4}, 0, 4096, std::string(16, '\0'));
  check_refused(outside, ErrorCode::kCorrupt, {"\"w\"", "4096", "cut off"});
  GgufBuilder far;
  far.tensor_at("w", {4}, 0, ~uint64_t{31}, std::string(16, '\0'));
  check_refused(far, ErrorCode::kCorrupt, {"\"w\"", "cut off"});
  GgufBuilder misaligned;
  misaligned.tensor_at("w", {4}, 0, 4, std::string(32, '\0'));
  check_refused(misaligned, ErrorCode::kCorrupt, {"\"w\"", "byte 4", "alignment (32)"});
  GgufBuilder overlapping;
  overlapping.tensor_at("first", {16}, 0, 0, std::string(64, '\0'))
      .tensor_at("second", {8}, 0, 32, std::string(64, '\0'));
  check_refused(overlapping, ErrorCode::kCorrupt, {"\"second\"", "overlaps", "\"first\""});
}

TEST_CASE("a tensor of unknown size is refused when the file ends before the tensor data") {
  GgufBuilder builder;
  builder.tensor("w", {4}, 12345, "");
  std::string bytes = builder.build();
  CHECK(open_now(bytes).has_value());
  bytes.pop_back();  // of the padding
  const base::Error error = refused(bytes);
  CHECK(error.code == ErrorCode::kCorrupt);
  CHECK(error.text().find("cut off") != std::string::npos);
}

TEST_CASE("an alignment that is no power of two is refused") {
  for (const uint32_t alignment : {0u, 3u, 48u, 0xffffffffu}) {
    GgufBuilder builder;
    builder.u32("general.alignment", alignment).f32("w", {4});
    check_refused(builder, ErrorCode::kCorrupt, {"general.alignment", "power of two"});
  }
  GgufBuilder text;
  text.text("general.alignment", "32").f32("w", {4});
  check_refused(text, ErrorCode::kCorrupt, {"general.alignment"});
}
