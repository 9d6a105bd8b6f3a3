// The cache of llama.cpp: files USER_REPO_FILE.gguf in one folder, and for each that was asked for
// by quantization manifest=USER=REPO=TAG.json, which names its file and that of its projector.
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

struct Known {
  ModelName name{};
  std::string projector{};  // its file; empty: the manifest names none
};

// What manifests say, by the file that they stand for.
std::map<std::string, Known> manifests_by_file(const std::string& folder) {
  std::map<std::string, Known> out;
  for (const std::string& entry : names_in(folder)) {
    if (!entry.starts_with(kPrefix) || !entry.ends_with(kSuffix)) continue;
    const std::string_view middle = std::string_view(entry).substr(
        kPrefix.size(), entry.size() - kPrefix.size() - kSuffix.size());
    const std::vector<std::string> words = split(middle, '=');
    if (words.size() != 3) continue;
    ModelName name{std::string(kHuggingFaceHost), words[0], words[1], words[2]};
    const Result<std::string> text = read_text(folder + "/" + entry, kMaxManifestText);
    const Result<Json> json = text ? Json::parse(*text) : std::unexpected(text.error());
    // The file of the cache that a member of the manifest names; empty: there is none.
    const auto flat = [&](const char* member) {
      const Json* file = json ? json->find(member) : nullptr;
      const std::string path = file ? file->get_string("rfilename").value_or("") : "";
      std::string out = path.empty() ? "" : words[0] + "_" + words[1] + "_" + path;
      std::ranges::replace(out, '/', '_');
      return out;
    };
    std::string model = flat("ggufFile");
    if (model.empty() || !parse_name(name.full())) continue;
    out.emplace(std::move(model), Known{std::move(name), flat("mmprojFile")});
  }
  return out;
}

}  // namespace

std::vector<StoredModel> llama_cpp_models(const Place& place) {
  const std::map<std::string, Known> manifests = manifests_by_file(place.path);
  std::vector<StoredModel> models = folder_models(place);
  for (StoredModel& model : models) {
    model.origin = Origin::kLlamaCpp;
    const auto known = manifests.find(model.path.substr(place.path.size() + 1));
    const auto is_of_another = [&](const auto& each) {
      return model.projector == place.path + "/" + each.second.projector;
    };
    if (known == manifests.end()) {
      if (std::ranges::none_of(manifests, is_of_another)) continue;
      model.projector.clear();
      measure(model);
      continue;
    }
    model.name = known->second.name;
    const std::string projector = place.path + "/" + known->second.projector;
    if (known->second.projector.empty() || file_bytes(projector) < 0) continue;
    model.projector = projector;
    measure(model);
  }
  return models;
}

}  // namespace puna::store
