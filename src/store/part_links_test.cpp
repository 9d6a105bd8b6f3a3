#include "store/part_links.h"

#include <doctest/doctest.h>

#include <filesystem>

#include "formats/gguf_split.h"
#include "store/changes.h"
#include "store/test_store.h"

namespace puna::store {
namespace {

namespace fs = std::filesystem;

struct Fixture {
  TestFolder folder;
  Store store{folder.path(), {}};
  const Layout& layout = store.layout();

  Fixture() { REQUIRE(layout.prepare().has_value()); }

  // Puts a model of parts in the store, as a pull does.
  std::vector<Layer> put(const std::string& name, const std::vector<std::string>& bytes) {
    const std::string config = "{}";
    Manifest manifest{.config = {std::string(kConfigType), sha256_of(config), config.size()},
                      .layers = {}};
    REQUIRE(write_text(layout.blob(manifest.config.digest), config).has_value());
    for (const std::string& part : bytes) {
      manifest.layers.push_back({std::string(kModelType), sha256_of(part), part.size()});
      REQUIRE(write_text(layout.blob(manifest.layers.back().digest), part).has_value());
    }
    REQUIRE(put_manifest(layout, *parse_name(name), write_manifest(manifest)).has_value());
    return manifest.layers;
  }
  std::string folder_of(const Digest& key) { return layout.path(Layout::Kind::kSplit, key); }
  // Has the folder of `key` lead to these parts, and removes that of `parts`: a store as versions
  // before made it.
  void make_old(const std::vector<Layer>& parts, const std::vector<Layer>& leads_to) {
    const std::string from = folder_of(split_key(leads_to)), to = folder_of(parts[0].digest);
    REQUIRE(link_parts(layout, leads_to).has_value());
    fs::remove_all(to);
    fs::copy(from, to, fs::copy_options::recursive | fs::copy_options::copy_symlinks);
    fs::remove_all(from);
    fs::remove_all(folder_of(split_key(parts)));
  }
  // What is opened as the second part of two.
  std::string second_part(const std::string& name) {
    const auto found = store.resolve(name);
    REQUIRE_MESSAGE(found.has_value(), found.error().text());
    const auto first = formats::parse_split_name(found->path);
    REQUIRE(first);
    return read_text(formats::split_path(first->prefix, 2, 2), 100).value_or("");
  }
};

TEST_CASE_FIXTURE(Fixture, "split models that share a part have links of their own") {
  put("a", {"one", "two"});
  put("b", {"one", "other two"});
  REQUIRE(store.copy("a", "c").has_value());
  CHECK(second_part("a") == "two");
  CHECK(second_part("b") == "other two");
  CHECK(second_part("c") == "two");
  CHECK(store.verify({})->findings.empty());
  REQUIRE(store.remove("b").has_value());
  REQUIRE(store.remove("c").has_value());
  CHECK(second_part("a") == "two");
  CHECK(store.verify({})->findings.empty());
  REQUIRE(store.remove("a").has_value());
  CHECK(names_in(layout.splits()).empty());
  CHECK(names_in(layout.blobs()).empty());
}

TEST_CASE_FIXTURE(Fixture, "links of an earlier version are gone by where they are right") {
  const std::vector<Layer> a = put("a", {"one", "two"});
  make_old(a, a);
  CHECK(second_part("a") == "two");
  CHECK(store.verify({.repair = true, .collect = {.min_age_s = 0}})->findings.empty());
  CHECK(second_part("a") == "two");
  const std::vector<Layer> b = put("b", {"one", "other two"});
  CHECK(second_part("b") == "other two");
  REQUIRE(store.remove("b").has_value());
  CHECK(second_part("a") == "two");
  REQUIRE(store.remove("a").has_value());
  CHECK(names_in(layout.splits()).empty());

  // Those of another model, which that version let take their place.
  put("a", {"one", "two"});
  put("b", {"one", "other two"});
  make_old(a, b);
  CHECK(second_part("b") == "other two");
  const auto wrong = store.resolve("a");
  REQUIRE(!wrong.has_value());
  CHECK(wrong.error().code == base::ErrorCode::kCorrupt);
  CHECK(wrong.error().message.contains("puna verify --repair"));
  const auto verified = store.verify({});
  REQUIRE(verified->findings.size() == 1);
  CHECK(verified->findings[0].model == "a:latest");
  CHECK(!verified->fine());
  CHECK(store.verify({.repair = true})->fine());
  CHECK(second_part("a") == "two");
  CHECK(second_part("b") == "other two");
  CHECK(store.verify({})->findings.empty());
}

TEST_CASE_FIXTURE(Fixture, "a link that leads elsewhere or is missing is damage, and made again") {
  const std::vector<Layer> parts = put("a", {"one", "two"});
  const std::string link = formats::split_path(folder_of(split_key(parts)) + "/model", 2, 2);
  remove_file(link);
  SUBCASE("missing") {}
  SUBCASE("a file") { REQUIRE(write_text(link, "two").has_value()); }
  SUBCASE("another blob") { fs::create_symlink("../../blobs/other", link); }
  CHECK(!store.verify({})->fine());
  CHECK(!linked_path(layout, parts).has_value());
  CHECK(store.verify({.repair = true})->fine());
  CHECK(second_part("a") == "two");
}

TEST_CASE("the key of parts is of each and of their order") {
  const auto key = [](const std::vector<std::string>& bytes) {
    std::vector<Layer> parts;
    for (const std::string& part : bytes) parts.push_back({"", sha256_of(part), part.size()});
    return split_key(parts);
  };
  CHECK(key({"a", "b"}) == key({"a", "b"}));
  CHECK(key({"a", "b"}) != key({"b", "a"}));
  CHECK(key({"a", "b"}) != key({"a", "c"}));
  CHECK(key({"a", "b"}) != key({"a", "b", "b"}));
}

}  // namespace
}  // namespace puna::store
