// Ollama's layout (layout.h), of its own store or of Puna's.
#include <fmt/format.h>

#include "base/json.h"
#include "base/log.h"
#include "store/files.h"
#include "store/manifest.h"
#include "store/part_links.h"
#include "store/places/places.h"
#include "store/sha256.h"

namespace puna::store {
namespace {

using base::ErrorCode;
using base::fail;
using base::Json;
using base::Result;

constexpr uint64_t kMaxConfigBytes = 1 << 20;

Result<void> check_blob(const std::string& path, const Layer& layer, const ModelName& name) {
  const int64_t bytes = file_bytes(path);
  if (bytes < 0) {
    return fail(ErrorCode::kNotFound,
                fmt::format("The blob {} of {} is missing.", path, name.text()));
  }
  if (static_cast<uint64_t>(bytes) == layer.bytes) return {};
  return fail(ErrorCode::kCorrupt,
              fmt::format("The blob {} of {} has {} bytes, but its manifest says {}.", path,
                          name.text(), bytes, layer.bytes));
}

}  // namespace

Result<StoredModel> stored_model(const Layout& layout, const ManifestFile& file, Origin origin) {
  PUNA_TRY(const std::string text, read_text(file.path, kMaxManifestBytes));
  PUNA_TRY_CONTEXT(const Manifest manifest, read_manifest(text),
                   fmt::format("While reading the manifest {}", file.path));
  StoredModel model{.name = file.name, .origin = origin, .store = layout.models()};
  const std::vector<Layer> parts = manifest.all(kModelType);
  if (parts.empty())
    return fail(ErrorCode::kCorrupt,
                fmt::format("The manifest of {} names no model.", file.name.text()));
  for (const Layer& part : parts) PUNA_TRY(check_blob(layout.blob(part.digest), part, file.name));
  model.path = layout.blob(parts[0].digest);
  if (parts.size() > 1) {
    auto path = linked_path(layout, parts);
    if (!path) {
      return fail(
          ErrorCode::kCorrupt,
          fmt::format("The links to the parts of {} below {} are missing or lead elsewhere; "
                      "`puna verify --repair` makes those of Puna's store again.",
                      file.name.text(), layout.splits()));
    }
    model.path = *std::move(path);
  }
  // Whoever opens a projector that is missing or cut says so; the model goes without it.
  if (const Layer* projector = manifest.find(kProjectorType))
    model.projector = layout.blob(projector->digest);
  model.digest = sha256_of(text);
  model.bytes = manifest.bytes();
  model.modified_s = file_modified_s(file.path);
  const Result<std::string> config =
      read_text(layout.blob(manifest.config.digest), kMaxConfigBytes);
  const Result<Json> json = config ? Json::parse(*config) : std::unexpected(config.error());
  const auto field = [&](std::string_view key) {
    return json ? json->get_string(key).value_or("") : std::string();
  };
  model.family = field("model_family");
  model.parameters = field("model_type");
  model.file_type = field("file_type");
  return model;
}

std::vector<StoredModel> ollama_models(const Place& place) {
  const Layout layout(place.path);
  std::vector<StoredModel> models;
  for (const ManifestFile& file : layout.manifests()) {
    Result<StoredModel> model = stored_model(layout, file, place.origin);
    if (model) {
      models.push_back(*std::move(model));
    } else if (place.origin == Origin::kPuna) {
      base::log_warning("{} is left out: {}", file.name.text(), model.error().text());
    }
  }
  return models;
}

}  // namespace puna::store
