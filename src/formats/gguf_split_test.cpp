#include "formats/gguf_split.h"

#include <doctest/doctest.h>

#include <map>

#include "formats/gguf_test_util.h"

using namespace puna;
using namespace puna::formats;
using base::ErrorCode;

namespace {

std::string part(uint16_t number, uint16_t count, std::string_view tensor, int32_t n_tensors = 3) {
  GgufBuilder builder;
  if (number == 0) builder = tiny_gguf();  // has three tensors of its own
  builder.number("split.no", GgufValueType::kU16, number)
      .number("split.count", GgufValueType::kU16, count);
  builder.number("split.tensors.count", GgufValueType::kI32, n_tensors);
  if (number != 0) builder.f32(tensor, {8});
  return builder.build();
}

// Parts by path, as a folder would have them.
struct Folder {
  std::map<std::string, std::string> files;

  base::Result<ModelFile> load(const std::string& path) {
    const OpenPart open =
        [this](const std::string& wanted) -> base::Result<std::unique_ptr<io::ByteSource>> {
      const auto it = files.find(wanted);
      if (it == files.end())
        return base::fail(ErrorCode::kNotFound, "The file \"" + wanted + "\" does not exist.");
      return io::from_memory(wanted, as_byte_span(it->second));
    };
    auto source = open(path);
    REQUIRE(source);
    return base::run_until(load_gguf(std::move(*source), open), [] {});
  }
};

Folder three_parts() {
  return {{{"m/x-00001-of-00003.gguf", part(0, 3, "", 5)},
           {"m/x-00002-of-00003.gguf", part(1, 3, "second", 5)},
           {"m/x-00003-of-00003.gguf", part(2, 3, "third", 5)}}};
}

}  // namespace

TEST_CASE("names of parts are taken apart and put together") {
  const auto name = parse_split_name("models/llama-00002-of-00005.gguf");
  REQUIRE(name);
  CHECK(name->prefix == "models/llama");
  CHECK(name->number == 2);
  CHECK(name->count == 5);
  CHECK(split_path(name->prefix, 3, 5) == "models/llama-00003-of-00005.gguf");
  for (const char* other :
       {"llama.gguf", "llama-2-of-5.gguf", "llama-00006-of-00005.gguf", "llama-00000-of-00005.gguf",
        "-00001-of-00005.gguf", "llama-00002-of-00005.bin", "llama-0000x-of-00005.gguf", ""}) {
    CHECK(!parse_split_name(other));
  }
}

TEST_CASE("any part of a split file opens all of it") {
  Folder folder = three_parts();
  for (const auto& [path, bytes] : folder.files) {
    CAPTURE(path);
    const auto file = folder.load(path);
    if (!file) FAIL(file.error().text());
    CHECK(file->name == "m/x-00001-of-00003.gguf");
    CHECK(file->sources.size() == 3);
    CHECK(file->tensors.size() == 5);
    CHECK(file->find_tensor("token_embd.weight")->source == 0);
    CHECK(file->find_tensor("second")->source == 1);
    CHECK(file->find_tensor("third")->source == 2);
    CHECK(file->vocabulary.tokens.size() == 4);
  }
}

TEST_CASE("a missing part is named") {
  Folder folder = three_parts();
  folder.files.erase("m/x-00002-of-00003.gguf");
  const auto file = folder.load("m/x-00001-of-00003.gguf");
  REQUIRE(!file);
  CHECK(file.error().code == ErrorCode::kNotFound);
  CHECK(file.error().text().find("m/x-00002-of-00003.gguf") != std::string::npos);
}

TEST_CASE("parts that do not belong together are refused") {
  Folder swapped = three_parts();
  swapped.files["m/x-00002-of-00003.gguf"] = part(2, 3, "second", 5);
  CHECK(
      swapped.load("m/x-00001-of-00003.gguf").error().text().find("part 3 of 3, not part 2 of 3") !=
      std::string::npos);
  Folder twice = three_parts();
  twice.files["m/x-00003-of-00003.gguf"] = part(2, 3, "second", 5);
  CHECK(twice.load("m/x-00001-of-00003.gguf")
            .error()
            .text()
            .find("\"second\" appears in two parts") != std::string::npos);
  Folder lacking = three_parts();
  lacking.files["m/x-00001-of-00003.gguf"] = part(0, 3, "", 6);
  CHECK(lacking.load("m/x-00001-of-00003.gguf").error().text().find("5 tensors together, not 6") !=
        std::string::npos);
  Folder renamed;
  renamed.files["model.gguf"] = part(0, 3, "");
  CHECK(renamed.load("model.gguf").error().text().find("NAME-00001-of-00003.gguf") !=
        std::string::npos);
  Folder damaged = three_parts();
  damaged.files["m/x-00003-of-00003.gguf"].resize(60);
  CHECK(damaged.load("m/x-00001-of-00003.gguf").error().text().find("m/x-00003-of-00003.gguf") !=
        std::string::npos);
}

TEST_CASE("one source alone cannot be a split file") {
  const std::string bytes = part(0, 3, "");
  const auto file = open_now(bytes);
  REQUIRE(!file);
  CHECK(file.error().code == ErrorCode::kUnsupported);
}
