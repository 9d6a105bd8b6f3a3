#include "gpu/native/pipeline_files.h"

#include <doctest/doctest.h>

#include <cstdio>
#include <filesystem>
#include <random>
#include <vector>

using puna::gpu::native::PipelineFiles;

TEST_CASE("a value is found again by its key, and a damaged file counts as none") {
  namespace fs = std::filesystem;
  const fs::path folder =
      fs::temp_directory_path() / ("puna_pipelines_" + std::to_string(std::random_device()()));
  const PipelineFiles files((folder / "nested").string());
  const std::vector<uint8_t> key = {1, 2, 3}, other = {1, 2, 4}, value = {9, 8, 7, 6};
  CHECK(files.load(key, {}) == 0);
  files.store(key, value);
  CHECK(files.load(key, {}) == 4);
  std::vector<uint8_t> out(4);
  CHECK(files.load(key, out) == 4);
  CHECK(out == value);
  CHECK(files.load(other, out) == 0);
  for (const auto& entry : fs::directory_iterator(folder / "nested")) {
    const auto size = fs::file_size(entry.path());
    std::FILE* file = std::fopen(entry.path().c_str(), "r+b");
    REQUIRE(file);
    std::fseek(file, static_cast<long>(size - 1), SEEK_SET);
    std::fputc(5, file);
    std::fclose(file);
    CHECK(files.load(key, out) == 0);
    fs::resize_file(entry.path(), size - 2);
    CHECK(files.load(key, out) == 0);
    fs::resize_file(entry.path(), 10);
    CHECK(files.load(key, out) == 0);
  }
  files.store(key, value);
  CHECK(files.load(key, out) == 4);
  fs::remove_all(folder);
  CHECK(PipelineFiles::of_process("") == nullptr);
  PipelineFiles("/proc/none").store(key, value);  // cannot be written: nothing happens
}
