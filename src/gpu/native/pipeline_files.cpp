#include "gpu/native/pipeline_files.h"

#include <fmt/format.h>

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <system_error>
#include <vector>

namespace puna::gpu::native {
namespace {

// File: magic, key size, value size, check of the value, key, value.
struct Header {
  char magic[8] = {'P', 'U', 'N', 'A', 'P', 'I', 'P', '1'};
  uint64_t key_bytes = 0;
  uint64_t value_bytes = 0;
  uint64_t check = 0;
};
constexpr uint64_t kMostBytes = 64u << 20;

// FNV-1a.
uint64_t hash(std::span<const uint8_t> bytes, uint64_t seed) {
  uint64_t h = 0xcbf29ce484222325 ^ seed;
  for (const uint8_t byte : bytes) h = (h ^ byte) * 0x100000001b3;
  return h;
}

struct Close {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, Close>;

}  // namespace

PipelineFiles* PipelineFiles::of_process(const std::string& folder) {
  if (folder.empty()) return nullptr;
  static PipelineFiles files(folder);
  return &files;
}

std::string PipelineFiles::path(std::span<const uint8_t> key) const {
  return fmt::format("{}/{:016x}{:016x}", folder_, hash(key, 0), hash(key, 0x9e3779b97f4a7c15));
}

size_t PipelineFiles::load(std::span<const uint8_t> key, std::span<uint8_t> value) const {
  const File file(std::fopen(path(key).c_str(), "rb"));
  Header header;
  if (!file || std::fread(&header, sizeof(header), 1, file.get()) != 1) return 0;
  if (std::memcmp(header.magic, Header().magic, sizeof(header.magic)) != 0) return 0;
  if (header.key_bytes != key.size() || header.value_bytes > kMostBytes) return 0;
  std::vector<uint8_t> stored(key.size());
  if (std::fread(stored.data(), 1, stored.size(), file.get()) != stored.size()) return 0;
  if (!std::equal(stored.begin(), stored.end(), key.begin())) return 0;
  // The check is done when only the size is asked for, too: the library allocates by it.
  std::error_code error;
  const uint64_t file_bytes = std::filesystem::file_size(path(key), error);
  if (error || file_bytes != sizeof(header) + header.key_bytes + header.value_bytes) return 0;
  stored.resize(header.value_bytes);
  if (std::fread(stored.data(), 1, stored.size(), file.get()) != stored.size()) return 0;
  if (hash(stored, 0) != header.check) return 0;
  if (value.size() >= stored.size() && !stored.empty())
    std::memcpy(value.data(), stored.data(), stored.size());
  return stored.size();
}

void PipelineFiles::store(std::span<const uint8_t> key, std::span<const uint8_t> value) const {
  if (value.size() > kMostBytes) return;
  std::error_code error;
  std::filesystem::create_directories(folder_, error);
  Header header;
  header.key_bytes = key.size();
  header.value_bytes = value.size();
  header.check = hash(value, 0);
  // Written beside its place and moved, so that no reader sees half of it.
  const std::string final_path = path(key);
  const std::string part = final_path + ".part";
  bool whole = false;
  if (const File file(std::fopen(part.c_str(), "wb")); file) {
    whole = std::fwrite(&header, sizeof(header), 1, file.get()) == 1 &&
            std::fwrite(key.data(), 1, key.size(), file.get()) == key.size() &&
            std::fwrite(value.data(), 1, value.size(), file.get()) == value.size() &&
            std::fflush(file.get()) == 0;
  }
  if (whole) {
    std::filesystem::rename(part, final_path, error);
  } else {
    std::filesystem::remove(part, error);
  }
}

}  // namespace puna::gpu::native
