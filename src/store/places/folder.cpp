// A plain folder of models: GGUF files, and folders that each hold one model (its parts, its
// projector, or weights of Hugging Face or MLC).
#include <filesystem>
#include <system_error>

#include "store/files.h"
#include "store/gguf_files.h"
#include "store/places/places.h"

namespace puna::store {
namespace {

namespace fs = std::filesystem;

ModelName file_name(std::string_view stem) {
  return {std::string(kPunaHost), std::string(kFilesSpace), as_name_part(stem),
          std::string(kDefaultTag)};
}

GgufModels gguf_in(const std::string& folder) {
  std::vector<GgufFile> files;
  for (const std::string& name : names_in(folder)) files.push_back({.path = folder + "/" + name});
  std::erase_if(files, [](const GgufFile& file) { return file_bytes(file.path) < 0; });
  return group(std::move(files));
}

void add(std::vector<StoredModel>& models, std::string_view name, std::string path,
         const GgufFile* projector) {
  StoredModel model{.name = file_name(name), .origin = Origin::kFolder, .path = std::move(path)};
  if (projector) model.projector = projector->path;
  measure(model);
  models.push_back(std::move(model));
}

}  // namespace

std::vector<StoredModel> folder_models(const Place& place) {
  std::vector<StoredModel> models;
  const GgufModels files = gguf_in(place.path);
  for (const GgufModel& each : files.models)
    add(models, each.stem, each.parts[0].path, pick_projector(files, each.stem).taken);
  for (const std::string& name : names_in(place.path)) {
    const std::string folder = place.path + "/" + name;
    std::error_code error;
    if (!fs::is_directory(folder, error)) continue;
    if (is_weights_folder(folder)) {
      add(models, name, folder, nullptr);
      continue;
    }
    const GgufModels inside = gguf_in(folder);
    for (const GgufModel& each : inside.models)
      add(models, inside.models.size() == 1 ? name : each.stem, each.parts[0].path,
          pick_projector(inside, each.stem).taken);
  }
  return models;
}

}  // namespace puna::store
