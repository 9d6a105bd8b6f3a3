#include "store/store.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/log.h"
#include "store/files.h"
#include "store/manifest.h"
#include "store/test_store.h"

namespace puna::store {
namespace {

const std::string kSum(64, 'a');

// Puts a model of the given bytes in the store by hand.
void put(const Store& store, const std::string& model, const std::string& tag,
         const std::string& bytes, const std::string& sum) {
  const std::string config = R"({"model_family":"llama","model_type":"1B","file_type":"Q4_0"})";
  Manifest manifest{.config = {std::string(kConfigType), std::string(64, 'c'), config.size()},
                    .layers = {}};
  manifest.layers.push_back({std::string(kModelType), sum, bytes.size()});
  REQUIRE(write_text(store.blob_path(sum), bytes));
  REQUIRE(write_text(store.blob_path(manifest.config.sha256), config));
  REQUIRE(write_text(
      fmt::format("{}/models/manifests/puna.local/catalogue/{}/{}", store.root(), model, tag),
      write_manifest(manifest)));
}

TEST_CASE("a name without a tag means latest, and odd names are refused") {
  CHECK(parse_name("smollm2")->text() == "smollm2:latest");
  CHECK(parse_name("gemma3:270m-base")->tag == "270m-base");
  CHECK(parse_name("Qwen2.5_x-1:q4")->model == "Qwen2.5_x-1");
  for (const char* bad : {"", ":", "a:", ":b", "a:b:c", "../x", "a/b", ".a", "-a", "a b", "a:.."}) {
    CAPTURE(bad);
    CHECK(!parse_name(bad).has_value());
  }
  CHECK(!parse_name(std::string(81, 'a')).has_value());
  CHECK(parse_name(std::string(80, 'a')).has_value());
}

TEST_CASE("every catalogue entry is complete and its wheels add up to it") {
  std::set<std::string> names;
  for (const CatalogueEntry& entry : catalogue()) {
    CAPTURE(entry.model);
    CHECK(parse_name(entry.name().text()).has_value());
    CHECK(names.insert(entry.name().text()).second);
    CHECK(entry.sha256.size() == 64);
    CHECK(!entry.license.empty());
    CHECK(entry.url.starts_with("https://"));
    uint64_t bytes = 0;
    for (const WheelPart& part : entry.wheels) {
      CHECK(part.sha256.size() == 64);
      CHECK(part.requirement.find("==") != std::string_view::npos);
      bytes += part.bytes;
    }
    CHECK(bytes == entry.bytes);
  }
  CHECK(find(catalogue(), *parse_name("smollm2")) != nullptr);
  CHECK(find(catalogue(), *parse_name("gemma3:270m-base")) != nullptr);
  CHECK(find(catalogue(), *parse_name("gemma3")) == nullptr);
}

TEST_CASE("a manifest is read back as written, and a damaged one is refused") {
  Manifest manifest{.config = {std::string(kConfigType), kSum, 5}, .layers = {}};
  manifest.layers.push_back({std::string(kModelType), std::string(64, 'b'), 1234567890123});
  const std::string text = write_manifest(manifest);
  CHECK(text.starts_with(
      R"({"schemaVersion":2,"mediaType":"application/vnd.docker.distribution.manifest.v2+json",)"));
  const auto read = read_manifest(text);
  REQUIRE(read.has_value());
  CHECK(read->config.sha256 == kSum);
  REQUIRE(read->find(kModelType) != nullptr);
  CHECK(read->find(kModelType)->bytes == 1234567890123);
  CHECK(read->find(kLicenseType) == nullptr);
  for (size_t cut = 0; cut < text.size(); ++cut)
    CHECK(!read_manifest(text.substr(0, cut)).has_value());
  CHECK(!read_manifest(
             R"({"config":{"mediaType":"x","digest":"sha256:../../etc","size":1},"layers":[]})")
             .has_value());
  CHECK(!read_manifest(
             fmt::format(
                 R"({{"config":{{"mediaType":"x","digest":"sha256:{}","size":-1}},"layers":[]}})",
                 kSum))
             .has_value());
}

TEST_CASE("names are looked up as path, then catalogue, then store") {
  TestFolder folder;
  const TestEntry known("body", "");
  const Store store(folder.path(), {&known.entry, 1});

  const auto path = store.resolve(folder.path());
  REQUIRE(path.has_value());
  CHECK(path->path == folder.path());
  CHECK(path->name.empty());

  const auto unpulled = store.resolve("tiny");
  REQUIRE(unpulled.has_value());
  CHECK(unpulled->needs_pull());
  CHECK(unpulled->name == "tiny:latest");
  CHECK(unpulled->entry == &known.entry);

  put(store, "tiny", "latest", "body", known.sha256);
  CHECK(store.resolve("tiny:latest")->path == store.blob_path(known.sha256));

  put(store, "mine", "v1", "other", kSum);
  const auto mine = store.resolve("mine:v1");
  REQUIRE(mine.has_value());
  CHECK(mine->path == store.blob_path(kSum));
  CHECK(mine->entry == nullptr);

  for (const char* missing : {"mine", "nothing.gguf", "no/such/file.gguf", "a b"}) {
    const auto failed = store.resolve(missing);
    REQUIRE(!failed.has_value());
    CHECK(failed.error().code == base::ErrorCode::kNotFound);
    CHECK(failed.error().message.find(missing) != std::string::npos);
    CHECK(failed.error().message.find("tiny") != std::string::npos);
  }
}

TEST_CASE(
    "a stored model whose blob was cut is corrupt, and one of the catalogue is pulled again") {
  TestFolder folder;
  const TestEntry known("body", "");
  const Store store(folder.path(), {&known.entry, 1});
  put(store, "tiny", "latest", "body", known.sha256);
  put(store, "mine", "latest", "other", kSum);
  REQUIRE(write_text(store.blob_path(known.sha256), "bo"));
  REQUIRE(write_text(store.blob_path(kSum), "oth"));
  CHECK(store.resolve("tiny")->needs_pull());
  const auto mine = store.resolve("mine");
  REQUIRE(!mine.has_value());
  CHECK(mine.error().code == base::ErrorCode::kCorrupt);
}

TEST_CASE("the list tells name, size and kind, and leaves damaged manifests out") {
  base::set_log_sink([](base::LogLevel, std::string_view) {}, base::LogLevel::kWarning);
  TestFolder folder;
  const Store store(folder.path(), {});
  CHECK(store.list()->empty());
  put(store, "zeta", "latest", "12345", kSum);
  put(store, "alpha", "q4", "123", std::string(64, 'b'));
  REQUIRE(write_text(folder.path() + "/models/manifests/puna.local/catalogue/broken/latest", "{"));
  const auto models = store.list();
  REQUIRE(models.has_value());
  REQUIRE(models->size() == 2);
  CHECK(models->at(0).name == "alpha:q4");
  CHECK(models->at(0).bytes == 3);
  CHECK(models->at(0).parameters == "1B");
  CHECK(models->at(0).file_type == "Q4_0");
  CHECK(models->at(0).digest.size() == 64);
  CHECK(models->at(0).modified_s > 0);
  CHECK(models->at(1).name == "zeta:latest");
}

TEST_CASE("removing a model deletes the blobs that no other model uses") {
  base::set_log_sink([](base::LogLevel, std::string_view) {}, base::LogLevel::kWarning);
  TestFolder folder;
  const Store store(folder.path(), {});
  put(store, "one", "a", "12345", kSum);
  put(store, "one", "b", "12345", kSum);
  put(store, "two", "latest", "123", std::string(64, 'b'));
  REQUIRE(store.remove("one:a").has_value());
  CHECK(file_bytes(store.blob_path(kSum)) == 5);
  REQUIRE(store.remove("one:b").has_value());
  CHECK(file_bytes(store.blob_path(kSum)) == -1);
  CHECK(file_bytes(store.blob_path(std::string(64, 'c'))) > 0);  // the config is still that of two
  const auto again = store.remove("one:b");
  REQUIRE(!again.has_value());
  CHECK(again.error().code == base::ErrorCode::kNotFound);

  REQUIRE(write_text(folder.path() + "/models/manifests/puna.local/catalogue/broken/latest", "{"));
  REQUIRE(store.remove("two").has_value());
  CHECK(file_bytes(store.blob_path(std::string(64, 'b'))) ==
        3);  // kept: the damaged manifest may name it
}

TEST_CASE("a lock is held by one at a time and freed by its end") {
  TestFolder folder;
  const std::string path = folder.path() + "/lock";
  {
    const auto first = FileLock::take(path);
    REQUIRE(first.has_value());
    const auto second = FileLock::take(path);
    REQUIRE(!second.has_value());
    CHECK(second.error().message.find(fmt::format("Process {} ", ::getpid())) != std::string::npos);
  }
  CHECK(FileLock::take(path).has_value());
  CHECK(folder.files().empty());
}

}  // namespace
}  // namespace puna::store
