#include "store/new_model.h"

#include <doctest/doctest.h>

#include "store/changes.h"
#include "store/locks.h"
#include "store/parts.h"
#include "store/store.h"
#include "store/test_store.h"

namespace puna::store {
namespace {

base::Result<void> goes_on() { return {}; }

const OnStatus kSayNothing = [](const std::string&, uint64_t, uint64_t) {};

std::unique_ptr<BlobFile> file_of(const Layout& layout, const std::string& bytes) {
  auto file = BlobFile::create(layout);
  REQUIRE(file.has_value());
  REQUIRE((*file)->write(std::as_bytes(std::span(bytes))).has_value());
  REQUIRE((*file)->finish().has_value());
  return *std::move(file);
}

NewModel model_of(const Layout& layout, const std::string& name, const std::string& bytes,
                  const std::string& system) {
  NewModel model{.name = *parse_name(name),
                 .config = {.family = "llama", .parameters = "1B", .file_type = "Q4_0"}};
  model.layers.push_back(NewLayer::of_file(kModelType, file_of(layout, bytes)));
  model.layers.push_back(NewLayer::of_text(kSystemType, system));
  return model;
}

TEST_CASE("a model is put into a store by its layers, and read back by its parts") {
  const TestFolder folder;
  const Store store(folder.path());
  REQUIRE(store.layout().prepare().has_value());
  std::vector<std::string> said;
  const OnStatus say = [&](const std::string& status, uint64_t, uint64_t total_bytes) {
    if (total_bytes == 0) said.push_back(status);
  };
  NewModel model = model_of(store.layout(), "me/a", "weights", "Be brief.");
  // Two layers of one text are one blob.
  model.layers.push_back(NewLayer::of_text(kTemplateType, "Be brief."));
  model.layers.push_back(NewLayer::of_text(kParametersType, R"({"top_k":3})"));
  model.layers.push_back(NewLayer::of_text(kLicenseType, "Free."));
  model.layers.push_back(NewLayer::of_text(kLicenseType, "Really."));
  model.config.parser = "qwen3";
  REQUIRE(put_model(store.layout(), std::move(model), say, goes_on).has_value());
  CHECK(said.back() == "writing manifest");
  CHECK(std::ranges::find(said, "creating new layer " + sha256_of("weights").text()) != said.end());

  const auto found = store.find("ME/A:latest");
  REQUIRE(found.has_value());
  CHECK(found->family == "llama");
  CHECK(found->path == store.layout().blob(sha256_of("weights")));
  const auto parts = parts_of(*found);
  REQUIRE(parts.has_value());
  CHECK(parts->system == "Be brief.");
  CHECK(parts->chat_template == "Be brief.");
  CHECK(parts->parameters == R"({"top_k":3})");
  CHECK(parts->licenses == std::vector<std::string>{"Free.", "Really."});
  CHECK(parts->parser == "qwen3");
  CHECK(parts->messages.empty());
  CHECK(store.verify({})->fine());
  CHECK(store.verify({})->findings.empty());

  said.clear();
  REQUIRE(put_model(store.layout(), model_of(store.layout(), "me/a", "weights", "Be long."), say,
                    goes_on)
              .has_value());
  CHECK(std::ranges::find(said, "using existing layer " + sha256_of("weights").text()) !=
        said.end());
  // What only the model before it needed is gone, and nothing lies about.
  CHECK(file_bytes(store.layout().blob(sha256_of("Free."))) < 0);
  CHECK(store.verify({})->findings.empty());
}

TEST_CASE("who makes a model may give up waiting for one who holds a blob") {
  const TestFolder folder;
  const Layout layout(folder.path());
  REQUIRE(layout.prepare().has_value());
  const auto held = FileLock::try_take(layout.path(Layout::Kind::kLock, sha256_of("Be brief.")));
  REQUIRE(held.has_value());
  int n_waits = 0;
  const auto put = put_model(layout, model_of(layout, "a", "w", "Be brief."), kSayNothing,
                             [&]() -> base::Result<void> {
                               if (++n_waits < 2) return {};
                               return base::fail(base::ErrorCode::kCancelled, "Enough.");
                             });
  CHECK(put.error().code == base::ErrorCode::kCancelled);
  CHECK(layout.manifests().empty());
}

TEST_CASE("a layer that is to be there has to be") {
  const TestFolder folder;
  const Store store(folder.path());
  REQUIRE(store.layout().prepare().has_value());
  const auto put = [&] {
    NewModel model{.name = *parse_name("a"), .config = {}};
    model.layers.push_back({.layer = {std::string(kModelType), sha256_of("x"), 1}});
    return put_model(store.layout(), std::move(model), kSayNothing, goes_on);
  };
  CHECK(put().error().code == base::ErrorCode::kNotFound);
  REQUIRE(write_text(store.layout().blob(sha256_of("x")), "longer").has_value());
  CHECK(put().error().code == base::ErrorCode::kCorrupt);
  CHECK(store.find("a").error().code == base::ErrorCode::kNotFound);
  CHECK(store.find("../a").error().code == base::ErrorCode::kInvalidArgument);
}

TEST_CASE("a blob that is damaged is replaced by the bytes that a model brings") {
  const TestFolder folder;
  const Store store(folder.path());
  const Layout& layout = store.layout();
  REQUIRE(layout.prepare().has_value());
  const std::string weights = layout.blob(sha256_of("weights"));
  const std::string text = layout.blob(sha256_of("Be brief."));
  REQUIRE(write_text(weights, "weighty").has_value());
  REQUIRE(write_text(text, "Be brave.").has_value());
  const auto put = [&](const OnStatus& say, const std::function<base::Result<void>()>& waiting) {
    return put_model(layout, model_of(layout, "a", "weights", "Be brief."), say, waiting);
  };
  const auto cancelled =
      put(kSayNothing, [] { return base::fail(base::ErrorCode::kCancelled, "Enough."); });
  CHECK(cancelled.error().message == "Enough.");
  CHECK(read_text(weights, 100).value_or("") == "weighty");

  REQUIRE(put(kSayNothing, goes_on).has_value());
  CHECK(read_text(weights, 100).value_or("") == "weights");
  CHECK(read_text(text, 100).value_or("") == "Be brief.");
  CHECK(store.verify({})->findings.empty());
  // One that is right stays, after it was read once.
  uint64_t n_read = 0;
  std::vector<std::string> said;
  const auto again = put(
      [&](const std::string& status, uint64_t done_bytes, uint64_t total_bytes) {
        n_read += done_bytes;
        if (total_bytes == 0) said.push_back(status);
      },
      goes_on);
  REQUIRE(again.has_value());
  CHECK(n_read == std::string("weights").size());
  for (const char* bytes : {"weights", "Be brief."})
    CHECK(std::ranges::find(said, "using existing layer " + sha256_of(bytes).text()) != said.end());
}

TEST_CASE("a file in the making that is given up leaves nothing") {
  const TestFolder folder;
  const Layout layout(folder.path());
  REQUIRE(layout.prepare().has_value());
  const size_t n_before = folder.files().size();
  {
    const auto file = file_of(layout, "abc");
  }
  CHECK(folder.files().size() == n_before);
}

}  // namespace
}  // namespace puna::store
