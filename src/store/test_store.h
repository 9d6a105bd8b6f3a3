// What the tests of this room share: a temporary folder that goes away, models made by hand, and a
// catalogue entry over given bytes.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "store/catalogue.h"
#include "store/files.h"
#include "store/manifest.h"
#include "store/sha256.h"
#include "store/store.h"

namespace puna::store {

class TestFolder {
 public:
  TestFolder() : path_((std::filesystem::temp_directory_path() / "puna-test-XXXXXX").string()) {
    if (!::mkdtemp(path_.data())) path_.clear();
  }
  ~TestFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;
  const std::string& path() const { return path_; }

  // Paths of all files below it, relative and sorted.
  std::vector<std::string> files() const {
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(path_)) {
      if (entry.is_regular_file())
        found.push_back(std::filesystem::relative(entry.path(), path_).string());
    }
    std::ranges::sort(found);
    return found;
  }

 private:
  std::string path_;
};

// Keeps alive what the views of a catalogue entry point to.
struct TestEntry {
  std::string url;
  Digest digest;
  CatalogueEntry entry;

  TestEntry(std::string_view body, std::string source)
      : url(std::move(source)), digest(sha256_of(body)) {
    entry = {.model = "tiny",
             .tag = "latest",
             .title = "A test model",
             .family = "llama",
             .parameters = "1K",
             .file_type = "F32",
             .digest = digest,
             .bytes = body.size(),
             .license = "Free for tests.\n",
             .url = url,
             .wheels = {}};
  }
  TestEntry(const TestEntry&) = delete;
  TestEntry& operator=(const TestEntry&) = delete;
};

// Bytes without a pattern that repeats.
inline std::string some_bytes(size_t n) {
  std::string bytes(n, '\0');
  uint64_t state = 88172645463325252u;  // xorshift64
  for (char& byte : bytes) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    byte = static_cast<char>(state >> 32);
  }
  return bytes;
}

// What a pull of a test is: over plain http, and soon at its end.
inline PullOptions quick() { return {.insecure = true, .backoff_ms = 1}; }

// Puts a model of the given bytes in a store by hand; its manifest is returned.
inline Manifest put_model(const Layout& layout, const std::string& name, const std::string& bytes) {
  const std::string config = R"({"model_family":"llama","model_type":"1B","file_type":"Q4_0"})";
  Manifest manifest{.config = {std::string(kConfigType), sha256_of(config), config.size()},
                    .layers = {}};
  manifest.layers.push_back({std::string(kModelType), sha256_of(bytes), bytes.size()});
  REQUIRE(write_text(layout.blob(manifest.layers[0].digest), bytes).has_value());
  REQUIRE(write_text(layout.blob(manifest.config.digest), config).has_value());
  REQUIRE(write_text(layout.manifest(*parse_name(name)), write_manifest(manifest)).has_value());
  return manifest;
}

// Sets a variable of the environment while it lives.
class TestVariable {
 public:
  TestVariable(const char* name, const std::string& value) : name_(name), before_(variable(name)) {
    ::setenv(name, value.c_str(), 1);
  }
  ~TestVariable() {
    if (before_.empty()) {
      ::unsetenv(name_);
    } else {
      ::setenv(name_, before_.c_str(), 1);
    }
  }
  TestVariable(const TestVariable&) = delete;
  TestVariable& operator=(const TestVariable&) = delete;

 private:
  const char* name_;
  std::string before_;
};

}  // namespace puna::store
