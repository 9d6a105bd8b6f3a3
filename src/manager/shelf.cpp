#include "manager/shelf.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

namespace puna::manager {
namespace {

std::string stem_of(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  const std::filesystem::path file(path);
  return (file.extension() == ".gguf" ? file.stem() : file.filename()).string();
}

std::optional<uint64_t> number_in(const std::string& path) {
  std::ifstream file(path);
  uint64_t out = 0;
  if (!(file >> out)) return {};
  return out;
}

}  // namespace

std::vector<Entry> entries_of(std::span<const store::StoredModel> models) {
  constexpr std::string_view kLatest = ":latest";
  std::vector<Entry> out;
  std::set<std::string> ids;
  for (const store::StoredModel& model : models) {
    std::string id = model.name.text();
    if (id.ends_with(kLatest)) id.resize(id.size() - kLatest.size());
    if (!ids.insert(store::lower_case(id)).second) continue;
    Entry entry{.id = id, .aliases = {id}, .path = model.path};
    // Blobs are called by their digests, which are no names.
    if (model.origin == store::Origin::kFolder) entry.file_name = stem_of(model.path);
    if (model.origin != store::Origin::kFolder) entry.stored_as = model.name.full();
    if (model.digest) entry.digest = model.digest->hex();
    // As clients of llama.cpp's server know those of Hugging Face.
    if (model.name.host == store::kHuggingFaceHost)
      entry.aliases.push_back(id.substr(store::kHuggingFaceHost.size() + 1));
    std::ranges::sort(entry.aliases);
    entry.source = store::origin_name(model.origin);
    entry.created = model.modified_s;
    out.push_back(std::move(entry));
  }
  return out;
}

std::optional<uint64_t> host_room() {
  std::optional<uint64_t> out;
  std::ifstream file("/proc/meminfo");
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string name;
    uint64_t kib = 0;
    if (words >> name >> kib && name == "MemAvailable:") out = kib << 10;
  }
  const std::string group = "/sys/fs/cgroup/memory.";
  const auto most = number_in(group + "max"), used = number_in(group + "current");
  if (most && used) {
    const uint64_t left = *most - std::min(*most, *used);
    out = std::min(out.value_or(left), left);
  }
  if (out) *out -= *out / 10;
  return out;
}

}  // namespace puna::manager
