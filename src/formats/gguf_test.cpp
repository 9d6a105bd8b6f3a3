// Files that are as they should be.
#include "formats/gguf.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "formats/gguf_pairs.h"
#include "formats/gguf_test_util.h"
#include "formats/gguf_writer.h"
#include "formats/open.h"
#include "io/test_sources.h"

using namespace puna;
using namespace puna::formats;

namespace {

template <class T>
const T& get(const ModelFile& file, std::string_view key) {
  const Value* value = file.find(key);
  REQUIRE(value);
  REQUIRE(std::holds_alternative<T>(*value));
  return std::get<T>(*value);
}

// A source that is not mapped, so that the header is read piece by piece.
class Unmapped final : public io::ByteSource {
 public:
  explicit Unmapped(std::unique_ptr<io::ByteSource> inner) : inner_(std::move(inner)) {}
  uint64_t size() const override { return inner_->size(); }
  const std::string& name() const override { return inner_->name(); }
  void read(uint64_t offset, std::span<std::byte> out, io::ReadDone done) override {
    inner_->read(offset, out, std::move(done));
  }

 private:
  std::unique_ptr<io::ByteSource> inner_;
};

}  // namespace

TEST_CASE("tensors come with outermost-first shapes and absolute offsets") {
  const std::string bytes = tiny_gguf().build();
  const auto file = open_now(bytes);
  REQUIRE(file);
  REQUIRE(file->tensors.size() == 3);
  const Tensor& embedding = file->tensors[0];
  CHECK(embedding.name == "token_embd.weight");
  CHECK(embedding.shape == std::vector<uint64_t>{4, 32});
  CHECK(embedding.columns() == 32);
  CHECK(embedding.rows() == 4);
  CHECK(embedding.bytes == 512);
  CHECK(embedding.offset % 32 == 0);
  const Tensor* q = file->find_tensor("blk.0.attn_q.weight");
  REQUIRE(q);
  CHECK(q->type == quant::Type::kQ4_0);
  CHECK(q->bytes == 36);
  CHECK(bytes.substr(q->offset, 36) == std::string(36, '\x22'));
  CHECK(file->find_tensor("blk.0.attn_k.weight") == nullptr);
}

TEST_CASE("versions 2 and 3 read the same") {
  GgufBuilder builder = tiny_gguf();
  builder.version = 2;
  CHECK(open_error(builder.build()).empty());
}

TEST_CASE("every metadata type arrives as its value") {
  GgufBuilder builder;
  builder.number("u8", GgufValueType::kU8, uint8_t{200})
      .number("i8", GgufValueType::kI8, int8_t{-100});
  builder.number("u16", GgufValueType::kU16, uint16_t{60000})
      .number("i16", GgufValueType::kI16, int16_t{-30000});
  builder.u32("u32", 4000000000u).number("i32", GgufValueType::kI32, int32_t{-2000000000});
  builder.number("u64", GgufValueType::kU64, ~uint64_t{0})
      .number("i64", GgufValueType::kI64, INT64_MIN);
  builder.number("f32", GgufValueType::kF32, 0.1f).number("f64", GgufValueType::kF64, 0.1);
  builder.boolean("true", true)
      .boolean("false", false)
      .text("text", "h\xc3\xa9llo")
      .text("empty", "");
  builder.numbers<uint8_t>("u8s", GgufValueType::kU8, {1, 255})
      .numbers<int8_t>("i8s", GgufValueType::kI8, {-1, 1});
  builder.numbers<uint16_t>("u16s", GgufValueType::kU16, {65535})
      .numbers<int16_t>("i16s", GgufValueType::kI16, {-5});
  builder.numbers<uint32_t>("u32s", GgufValueType::kU32, {7})
      .numbers<int32_t>("i32s", GgufValueType::kI32, {-7});
  builder.numbers<uint64_t>("u64s", GgufValueType::kU64, {8})
      .numbers<int64_t>("i64s", GgufValueType::kI64, {-8});
  builder.numbers<float>("f32s", GgufValueType::kF32, {0.5f})
      .numbers<double>("f64s", GgufValueType::kF64, {0.25});
  builder.numbers<uint8_t>("bools", GgufValueType::kBool, {1, 0, 1})
      .texts("texts", {"a", "", "long enough to leave the small string"});
  builder.numbers<uint32_t>("nothing", GgufValueType::kU32, {});
  const std::string bytes = builder.build();
  const auto file = open_now(bytes);
  REQUIRE(file);
  CHECK(get<uint64_t>(*file, "u8") == 200);
  CHECK(get<int64_t>(*file, "i8") == -100);
  CHECK(get<uint64_t>(*file, "u16") == 60000);
  CHECK(get<int64_t>(*file, "i16") == -30000);
  CHECK(get<uint64_t>(*file, "u32") == 4000000000u);
  CHECK(get<int64_t>(*file, "i32") == -2000000000);
  CHECK(get<uint64_t>(*file, "u64") == ~uint64_t{0});
  CHECK(get<int64_t>(*file, "i64") == INT64_MIN);
  CHECK(get<double>(*file, "f32") == double{0.1f});
  CHECK(get<double>(*file, "f64") == 0.1);
  CHECK(get<bool>(*file, "true"));
  CHECK(!get<bool>(*file, "false"));
  CHECK(get<std::string>(*file, "text") == "h\xc3\xa9llo");
  CHECK(get<std::string>(*file, "empty").empty());
  CHECK(get<std::vector<uint64_t>>(*file, "u8s") == std::vector<uint64_t>{1, 255});
  CHECK(get<std::vector<int64_t>>(*file, "i8s") == std::vector<int64_t>{-1, 1});
  CHECK(get<std::vector<uint64_t>>(*file, "u16s") == std::vector<uint64_t>{65535});
  CHECK(get<std::vector<int64_t>>(*file, "i16s") == std::vector<int64_t>{-5});
  CHECK(get<std::vector<uint64_t>>(*file, "u32s") == std::vector<uint64_t>{7});
  CHECK(get<std::vector<int64_t>>(*file, "i32s") == std::vector<int64_t>{-7});
  CHECK(get<std::vector<uint64_t>>(*file, "u64s") == std::vector<uint64_t>{8});
  CHECK(get<std::vector<int64_t>>(*file, "i64s") == std::vector<int64_t>{-8});
  CHECK(get<std::vector<double>>(*file, "f32s") == std::vector<double>{0.5});
  CHECK(get<std::vector<double>>(*file, "f64s") == std::vector<double>{0.25});
  CHECK(get<std::vector<bool>>(*file, "bools") == std::vector<bool>{true, false, true});
  CHECK(get<std::vector<std::string>>(*file, "texts").at(2) ==
        "long enough to leave the small string");
  CHECK(get<std::vector<uint64_t>>(*file, "nothing").empty());
}

TEST_CASE("lists of lists arrive as they are nested, and are written as they were") {
  GgufBuilder builder;
  ByteString lists;
  lists.type(GgufValueType::kArray).put(uint64_t{2});
  lists.type(GgufValueType::kU32).put(uint64_t{2}).put(uint32_t{1}).put(uint32_t{2});
  lists.type(GgufValueType::kArray).put(uint64_t{1});
  lists.type(GgufValueType::kString).put(uint64_t{1}).text("deep");
  builder.pair("lists", GgufValueType::kArray, lists).u32("after", 3);
  const std::string written = builder.build();
  auto file = open_now(written);
  REQUIRE_MESSAGE(file.has_value(), file.error().text());
  const Value inner = ListOfLists{{std::vector<std::string>{"deep"}}};
  CHECK(get<ListOfLists>(*file, "lists") == ListOfLists{{std::vector<uint64_t>{1, 2}, inner}});
  CHECK(file->get_uint("after").value() == 3);

  // As the file has them, and as a container that is no GGUF would have them written.
  for (const bool stored : {true, false}) {
    if (!stored) file->stored_metadata.clear();
    const auto pairs = base::run_until(gguf_pairs(*file), [] {});
    REQUIRE(pairs);
    std::vector<std::byte> bytes;
    const auto sink = io::to_memory(bytes);
    GgufWriter writer(*sink);
    REQUIRE(writer.begin(*pairs, {}));
    const auto again = open_now(io::from_memory("again", std::span(std::as_const(bytes))));
    REQUIRE_MESSAGE(again.has_value(), again.error().text());
    CHECK(again->metadata == file->metadata);
  }
}

TEST_CASE("general.alignment moves the tensor data, whichever kind of integer says it") {
  GgufBuilder builder;
  builder.alignment = 256;
  builder.u32("general.alignment", 256).f32("a", {3}).f32("b", {5});
  const std::string bytes = builder.build();
  const auto file = open_now(bytes);
  REQUIRE(file);
  CHECK(file->tensors[0].offset % 256 == 0);
  CHECK(file->tensors[1].offset == file->tensors[0].offset + 256);
  GgufBuilder signed_one;
  signed_one.alignment = 64;
  signed_one.number("general.alignment", GgufValueType::kI64, int64_t{64}).f32("a", {3});
  CHECK(open_now(signed_one.build())->tensors[0].offset % 64 == 0);
}

TEST_CASE("what stands in for a file that Git LFS did not fetch is called so") {
  const std::string pointer =
      "version https://git-lfs.github.com/spec/v1\noid sha256:0123\nsize 98362432\n";
  CHECK(open_error(pointer) ==
        "test.gguf is only a Git LFS pointer, the text that stands in for a file that was not "
        "fetched; run `git lfs pull` in its folder or download the file itself.");
}

TEST_CASE("every prefix either asks for more that exists or gives the whole header") {
  const std::string bytes = tiny_gguf().build();
  const auto whole = parse_gguf(as_byte_span(bytes), bytes.size());
  REQUIRE(whole);
  REQUIRE(std::holds_alternative<GgufHeader>(*whole));
  const auto& expected = std::get<GgufHeader>(*whole);
  size_t complete = 0;
  for (size_t n = 0; n <= bytes.size(); ++n) {
    CAPTURE(n);
    const auto parsed = parse_gguf(as_byte_span(bytes).first(n), bytes.size());
    REQUIRE(parsed);
    if (const auto* more = std::get_if<GgufNeedMore>(&*parsed)) {
      CHECK(complete == 0);
      CHECK(more->prefix_bytes > n);
      CHECK(more->prefix_bytes <= bytes.size());
    } else {
      ++complete;
      CHECK(std::get<GgufHeader>(*parsed).metadata == expected.metadata);
      CHECK(std::get<GgufHeader>(*parsed).tensors.back().offset == expected.tensors.back().offset);
    }
  }
  CHECK(complete > 100);  // the data section is not needed
}

TEST_CASE("a source that answers later gives the same model, however long the header") {
  GgufBuilder builder = tiny_gguf();
  builder.texts("many",
                std::vector<std::string>(
                    400000, "sixteen letters."));  // 9.6 MB: longer than two growths of the prefix
  const std::string bytes = builder.build();
  io::ReadQueue queue;
  int reads = 0;
  auto file = base::run_until(
      open_model(std::make_unique<io::DeferredSource>(source_of(bytes), queue)), [&] {
        ++reads;
        REQUIRE(queue.pump());
      });
  REQUIRE(file);
  CHECK(file->tensors.size() == 3);
  CHECK(get<std::vector<std::string>>(*file, "many").size() == 400000);
  CHECK(reads <= 6);
}

TEST_CASE("a file is read, not mapped, unless asked: its pages would stay beside the copies") {
  const std::string path =
      std::filesystem::temp_directory_path() / ("puna_gguf_test_" + std::to_string(::getpid()));
  std::ofstream(path, std::ios::binary) << tiny_gguf().build();
  const auto file = base::run_until(open_model(path), [] {});
  std::remove(path.c_str());
  REQUIRE(file);
  CHECK(file->tensors.size() == 3);
  CHECK(file->sources.front()->mapped().empty());
}

TEST_CASE("a read that fails is handed on, whichever it is") {
  GgufBuilder builder = tiny_gguf();
  builder.texts("many", std::vector<std::string>(300000, "sixteen letters."));
  const std::string bytes = builder.build();
  int fail_at = 0;
  for (;; ++fail_at) {
    const auto file = open_now(io::failing(std::make_unique<Unmapped>(source_of(bytes)), fail_at));
    if (file) break;
    CHECK(file.error().code == base::ErrorCode::kIo);
    REQUIRE(fail_at < 10);
  }
  CHECK(fail_at >= 3);
}
