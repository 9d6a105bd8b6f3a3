// What the tests of this room share: a temporary folder that goes away, and a catalogue entry over
// given bytes.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "store/catalogue.h"
#include "store/sha256.h"

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
  std::string url, sha256;
  CatalogueEntry entry;

  TestEntry(std::string_view body, std::string source)
      : url(std::move(source)), sha256(sha256_hex(body)) {
    entry = {.model = "tiny",
             .tag = "latest",
             .title = "A test model",
             .family = "llama",
             .parameters = "1K",
             .file_type = "F32",
             .sha256 = sha256,
             .bytes = body.size(),
             .license = "Free for tests.\n",
             .url = url,
             .wheels = {}};
  }
  TestEntry(const TestEntry&) = delete;
  TestEntry& operator=(const TestEntry&) = delete;
};

}  // namespace puna::store
