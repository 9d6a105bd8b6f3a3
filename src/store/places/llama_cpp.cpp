// The cache of llama.cpp: files USER_REPO_FILE.gguf in one folder, and for each that was asked for
// by quantization manifest=USER=REPO=TAG.json, which names its file.
#include <algorithm>
#include <map>

#include "base/json.h"
#include "store/files.h"
#include "store/gguf_files.h"
#include "store/places/places.h"

namespace puna::store {
namespace {

using base::Json;
using base::Result;

constexpr std::string_view kPrefix = "manifest=", kSuffix = ".json";
constexpr uint64_t kMaxManifestText = 1 << 20;

std::vector<std::string> split(std::string_view text, char at) {
  std::vector<std::string> words;
  while (true) {
    const size_t end = text.find(at);
    words.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) return words;
    text.remove_prefix(end + 1);
  }
}

// Names by the file that they stand for.
std::map<std::string, ModelName> names_of_files(const std::string& folder) {
  std::map<std::string, ModelName> names;
  for (const std::string& entry : names_in(folder)) {
    if (!entry.starts_with(kPrefix) || !entry.ends_with(kSuffix)) continue;
    const std::string_view middle = std::string_view(entry).substr(
        kPrefix.size(), entry.size() - kPrefix.size() - kSuffix.size());
    const std::vector<std::string> words = split(middle, '=');
    if (words.size() != 3) continue;
    ModelName name{std::string(kHuggingFaceHost), words[0], words[1], words[2]};
    const Result<std::string> text = read_text(folder + "/" + entry, kMaxManifestText);
    const Result<Json> json = text ? Json::parse(*text) : std::unexpected(text.error());
    const Json* file = json ? json->find("ggufFile") : nullptr;
    const Result<std::string> path =
        file ? file->get_string("rfilename")
             : base::fail(base::ErrorCode::kNotFound, "The manifest names no GGUF file.");
    if (!path || !parse_name(name.full())) continue;
    std::string flat = words[0] + "_" + words[1] + "_" + *path;
    std::ranges::replace(flat, '/', '_');
    names.emplace(std::move(flat), std::move(name));
  }
  return names;
}

}  // namespace

std::vector<StoredModel> llama_cpp_models(const Place& place) {
  const std::map<std::string, ModelName> names = names_of_files(place.path);
  std::vector<StoredModel> models = folder_models(place);
  for (StoredModel& model : models) {
    model.origin = Origin::kLlamaCpp;
    const auto known = names.find(model.path.substr(place.path.size() + 1));
    if (known != names.end()) model.name = known->second;
  }
  return models;
}

}  // namespace puna::store
