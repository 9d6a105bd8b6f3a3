// Files made to hurt: each must give an error that names key or tensor and offset, and must not
// allocate what the file does not hold.
#include <doctest/doctest.h>

#include <algorithm>

#include "formats/allocation_count.h"
#include "formats/caught_warnings.h"
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
           tensor.bytes == (tensor.usable()
                                ? quant::row_bytes(tensor.type, tensor.rows() * tensor.columns())
                                : 0);
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
  const CaughtWarnings quiet;
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
  const CaughtWarnings quiet;
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

TEST_CASE("unknown value types and lists nested without end are refused by name") {
  GgufBuilder unknown;
  unknown.pair("odd", static_cast<GgufValueType>(13), ByteString().put(uint64_t{0}));
  check_refused(unknown, ErrorCode::kCorrupt, {"\"odd\"", "unknown value type 13", "at byte"});
  GgufBuilder item;
  item.pair("odd", GgufValueType::kArray,
            ByteString().put(uint32_t{99}).put(uint64_t{1}).put(uint64_t{0}));
  check_refused(item, ErrorCode::kCorrupt, {"\"odd\"", "unknown type 99"});
  GgufBuilder nested;
  ByteString lists;
  for (int depth = 0; depth < 100000; ++depth) lists.type(GgufValueType::kArray).put(uint64_t{1});
  nested.pair("deep", GgufValueType::kArray, lists);
  check_refused(nested, ErrorCode::kUnsupported, {"\"deep\"", "nests more than 8 lists"});
  GgufBuilder absurd;
  absurd.pair("deep", GgufValueType::kArray,
              ByteString().type(GgufValueType::kArray).put(uint64_t{1} << 60));
  check_refused(absurd, ErrorCode::kCorrupt, {"\"deep\"", "left in the file"});
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
  const CaughtWarnings warnings;
  GgufBuilder builder;
  builder.tensor("w", {256}, 9, std::string(320, '\0'))
      .tensor("ids", {4}, 26, std::string(16, '\0'));
  builder.tensor("v", {4}, 12345, std::string(16, '\0')).f32("x", {4});
  const auto file = open_now(builder.build());
  REQUIRE(file.has_value());
  REQUIRE(file->tensors.size() == 4);
  CHECK(file->tensors[0].type_name() == "q8_1");
  CHECK(file->tensors[0].unusable().message ==
        "Tensor \"w\" has type Q8_1 (9), which is not supported.");
  CHECK(file->tensors[1].type_name() == "i32");
  CHECK(file->tensors[2].type_name() == "type 12345");
  CHECK(file->tensors[2].unusable().message ==
        "Tensor \"v\" has type unknown (12345), which is not supported.");
  CHECK_FALSE(file->tensors[3].unknown_type);
  CHECK(file->tensors[3].bytes == 16);
  REQUIRE(warnings.lines.size() == 1);  // of all of them
  CHECK(warnings.lines[0].starts_with("test.gguf: 3 of 4 tensors cannot be used"));
}

TEST_CASE("tensors of shapes that their type cannot have are listed, and named in one warning") {
  const CaughtWarnings warnings;
  GgufBuilder builder;
  builder.tensor("rows", {48}, 2, std::string(64, '\0'));
  builder.tensor("dimensions", {1, 1, 1, 1, 1}, 0, std::string(4, '\0')).f32("x", {4});
  const auto file = open_now(builder.build());
  REQUIRE(file.has_value());
  CHECK_FALSE(file->tensors[0].usable());
  CHECK(file->tensors[0].bytes == 0);
  CHECK(file->tensors[0].unusable().message ==
        "Tensor \"rows\" has rows of 48 elements, not a whole number of q4_0 blocks (32).");
  CHECK(file->tensors[1].unusable().message ==
        "Tensor \"dimensions\" has 5 dimensions, more than 4.");
  CHECK(file->tensors[2].usable());
  CHECK(warnings.lines.size() == 1);
}

TEST_CASE("a tensor without elements takes no room, wherever it is said to be") {
  GgufBuilder builder;
  builder.f32("a", {8}).tensor("none", {4, 0}, 0, "").f32("b", {8});
  builder.tensor_at("inside a", {0}, 0, 0, "").tensor("nothing", {0, uint64_t{1} << 62, 4}, 2, "");
  const auto file = open_now(builder.build());
  REQUIRE_MESSAGE(file.has_value(), file.error().text());
  CHECK(file->tensors[1].shape == std::vector<uint64_t>{0, 4});
  CHECK(file->tensors[1].bytes == 0);
  CHECK(file->tensors[1].rows() * file->tensors[1].columns() == 0);
  CHECK(file->tensors[4].usable());
}

TEST_CASE("dimensions that overflow or leave the file are refused") {
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
  GgufBuilder many;
  many.tensor_at("w", {}, 0, 0, "");
  std::string bytes = many.build();
  const size_t at = bytes.find('w') + 1;
  bytes.replace(at, 4, 4, '\x7f');  // dimensions
  CHECK(refused(bytes).message.find("left in the file") != std::string::npos);
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
  const CaughtWarnings quiet;
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
