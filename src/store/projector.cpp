#include "store/projector.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <vector>

#include "formats/open.h"
#include "store/files.h"
#include "store/gguf_files.h"

namespace puna::store {
namespace {

namespace fs = std::filesystem;

base::Result<std::string> beside(const std::string& path) {
  std::error_code error;
  const bool is_folder = fs::is_directory(path, error);
  const fs::path file(path);
  const std::string folder = is_folder ? path : file.parent_path().string();
  if (!is_folder && lower_case(file.extension().string()) != ".gguf") return std::string();
  std::vector<GgufFile> files;
  for (const std::string& name : names_in(folder.empty() ? "." : folder)) {
    if (file_bytes(folder.empty() ? name : folder + "/" + name) >= 0)
      files.push_back({.path = name});
  }
  const GgufModels found = group(std::move(files));
  const std::string own = file.filename().string();
  const auto model = std::ranges::find_if(found.models, [&](const GgufModel& each) {
    return std::ranges::find(each.parts, own, &GgufFile::path) != each.parts.end();
  });
  const std::string stem = model != found.models.end() ? model->stem : file.stem().string();
  const ProjectorPick pick = pick_projector(found, stem);
  if (pick.taken) return folder.empty() ? pick.taken->path : folder + "/" + pick.taken->path;
  if (pick.several.empty() && is_folder) {
    PUNA_TRY(const bool has, formats::has_encoder(path));
    return has ? path : std::string();
  }
  if (pick.several.empty()) return std::string();
  std::vector<std::string> names;
  for (const GgufFile* each : pick.several) names.push_back(each->path);
  return base::fail(
      base::ErrorCode::kInvalidArgument,
      fmt::format("Beside {} lie several encoders, and none is named after it: {}. --mmproj names "
                  "one, --no-mmproj goes without.",
                  path, fmt::join(names, ", ")));
}

}  // namespace

base::Result<std::string> projector_of(const Resolved& model) {
  // One folder of llama.cpp's cache has the files of all repositories.
  const bool is_told = model.stored && (!model.projector.empty() || !model.stored->store.empty() ||
                                        model.stored->origin == Origin::kLlamaCpp);
  return is_told ? model.projector : beside(model.path);
}

}  // namespace puna::store
