// The cache of Hugging Face's own library, models--USER--REPO/snapshots/REVISION/..., where files
// are links to blobs. Models are named as they are pulled: hf.co/USER/REPO:QUANT.
#include <filesystem>

#include "store/files.h"
#include "store/gguf_files.h"
#include "store/places/places.h"

namespace puna::store {
namespace {

constexpr std::string_view kPrefix = "models--";
constexpr uint64_t kMaxRevisionBytes = 256;

// The revision that "main" was when it was last fetched, else the last one by name.
std::string snapshot(const std::string& repository) {
  const std::vector<std::string> revisions = names_in(repository + "/snapshots");
  std::string revision = read_text(repository + "/refs/main", kMaxRevisionBytes).value_or("");
  while (!revision.empty() && (revision.back() == '\n' || revision.back() == ' '))
    revision.pop_back();
  for (const std::string& each : revisions) {
    if (each == revision) return repository + "/snapshots/" + each;
  }
  return revisions.empty() ? "" : repository + "/snapshots/" + revisions.back();
}

}  // namespace

std::vector<StoredModel> hugging_face_models(const Place& place) {
  std::vector<StoredModel> models;
  for (const std::string& entry : names_in(place.path)) {
    if (!entry.starts_with(kPrefix)) continue;
    const std::string id = entry.substr(kPrefix.size());
    const size_t dashes = id.find("--");
    if (dashes == std::string::npos) continue;  // a repository without a user has no such name
    const std::string folder = snapshot(place.path + "/" + entry);
    if (folder.empty()) continue;
    const auto add = [&](const std::string& tag, std::string path, std::string projector) {
      StoredModel model{.name = {.host = std::string(kHuggingFaceHost),
                                 .space = id.substr(0, dashes),
                                 .model = id.substr(dashes + 2),
                                 .tag = tag},
                        .origin = Origin::kHuggingFace,
                        .path = std::move(path),
                        .projector = std::move(projector)};
      if (!parse_name(model.name.full())) return;
      measure(model);
      models.push_back(std::move(model));
    };
    if (is_weights_folder(folder)) add(std::string(kDefaultTag), folder, "");
    std::vector<GgufFile> files;
    for (const std::string& path : gguf_paths(folder))
      files.push_back({.path = folder + "/" + path});
    const GgufModels found = group(std::move(files));
    for (const GgufModel& each : found.models) {
      const GgufFile* const projector = pick_projector(found, each.stem).taken;
      add(each.quant, each.parts[0].path, projector ? projector->path : "");
    }
  }
  return models;
}

}  // namespace puna::store
