// Compiled pipelines kept on disk between runs, for libraries that ask for a key-value store
// (Dawn). One file for each key; a file that is damaged or of another key is as good as none, and a
// disk that is full only means that nothing is kept.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace puna::gpu::native {

class PipelineFiles {
 public:
  explicit PipelineFiles(std::string folder) : folder_(std::move(folder)) {}

  // The store of the process; the first folder asked for is kept. Null when `folder` is empty.
  static PipelineFiles* of_process(const std::string& folder);

  // Size of the value of `key`, 0 when there is none; copies it when `value` is large enough.
  size_t load(std::span<const uint8_t> key, std::span<uint8_t> value) const;
  void store(std::span<const uint8_t> key, std::span<const uint8_t> value) const;

 private:
  std::string path(std::span<const uint8_t> key) const;

  std::string folder_;
};

}  // namespace puna::gpu::native
