#include "store/store.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <set>
#include <system_error>

#include "base/json.h"
#include "base/log.h"
#include "store/files.h"
#include "store/manifest.h"
#include "store/sha256.h"

namespace puna::store {
namespace {

namespace fs = std::filesystem;
using base::ErrorCode;
using base::fail;
using base::Json;
using base::Result;

constexpr std::string_view kHost = "puna.local";
constexpr std::string_view kNamespace = "catalogue";
constexpr uint64_t kMaxManifestBytes = 1 << 20;

// One manifest file found in the store.
struct Found {
  ModelName name;
  std::string path;
};

std::vector<std::string> entries_of(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (auto it = fs::directory_iterator(folder, error); !error && it != fs::directory_iterator();
       it.increment(error)) {
    names.push_back(it->path().filename().string());
  }
  std::ranges::sort(names);
  return names;
}

// Every manifest whose path reads as a name; others (left by a crash while writing) are passed
// over.
std::vector<Found> find_manifests(const std::string& root) {
  std::vector<Found> found;
  const std::string folder = fmt::format("{}/models/manifests/{}/{}", root, kHost, kNamespace);
  for (const std::string& model : entries_of(folder)) {
    for (const std::string& tag : entries_of(fmt::format("{}/{}", folder, model))) {
      const Result<ModelName> name = parse_name(fmt::format("{}:{}", model, tag));
      const std::string path = fmt::format("{}/{}/{}", folder, model, tag);
      if (name && file_bytes(path) >= 0) found.push_back({*name, path});
    }
  }
  return found;
}

Result<Manifest> load_manifest(const std::string& path) {
  PUNA_TRY(const std::string text, read_text(path, kMaxManifestBytes));
  PUNA_TRY_CONTEXT(Manifest manifest, read_manifest(text),
                   fmt::format("While reading the manifest {}", path));
  return manifest;
}

bool exists(std::string_view path) {
  std::error_code error;
  return fs::exists(fs::path(path), error);
}

bool is_name(std::string_view text) {
  return parse_name(text).has_value() && !text.ends_with(".gguf");
}

}  // namespace

Result<std::string> default_root() {
  if (const char* root = std::getenv("PUNA_HOME"); root && *root) return std::string(root);
  if (const char* home = std::getenv("HOME"); home && *home) return std::string(home) + "/.puna";
  return fail(ErrorCode::kNotFound,
              "Neither PUNA_HOME nor HOME is set, so there is no place for models; set PUNA_HOME.");
}

Result<Resolved> resolve(std::string_view name) {
  Result<std::string> root = default_root();
  if (!root && !exists(name) && is_name(name)) return std::unexpected(std::move(root.error()));
  return Store(root.value_or("")).resolve(name);  // what is no name is not looked for in the store
}

Store::Store(std::string root, std::span<const CatalogueEntry> entries)
    : root_(std::move(root)), entries_(entries) {}

std::string Store::blob_path(std::string_view sha256_hex) const {
  return fmt::format("{}/models/blobs/sha256-{}", root_, sha256_hex);
}

std::string Store::manifest_path(const ModelName& name) const {
  return fmt::format("{}/models/manifests/{}/{}/{}/{}", root_, kHost, kNamespace, name.model,
                     name.tag);
}

std::string Store::catalogue_names() const {
  std::string names;
  for (const CatalogueEntry& entry : entries_) {
    if (!names.empty()) names += ", ";
    names += entry.tag == "latest" ? std::string(entry.model) : entry.name().text();
  }
  return names;
}

// The GGUF of a stored model. Errors: kNotFound when manifest or blob is missing, kCorrupt.
Result<std::string> Store::stored_path(const ModelName& name) const {
  PUNA_TRY(const Manifest manifest, load_manifest(manifest_path(name)));
  const Layer* model = manifest.find(kModelType);
  if (!model)
    return fail(ErrorCode::kCorrupt,
                fmt::format("The manifest of {} names no model.", name.text()));
  std::string path = blob_path(model->sha256);
  const int64_t bytes = file_bytes(path);
  if (bytes < 0)
    return fail(ErrorCode::kNotFound,
                fmt::format("The blob {} of {} is missing.", path, name.text()));
  if (static_cast<uint64_t>(bytes) != model->bytes) {
    return fail(ErrorCode::kCorrupt,
                fmt::format("The blob {} of {} has {} bytes, but its manifest says {}.", path,
                            name.text(), bytes, model->bytes));
  }
  return path;
}

Result<Resolved> Store::resolve(std::string_view name) const {
  if (exists(name)) return Resolved{.path = std::string(name)};
  if (!is_name(name)) {
    return fail(ErrorCode::kNotFound,
                fmt::format("There is no file or folder \"{}\", and it is no model name; the "
                            "catalogue has: {}.",
                            name, catalogue_names()));
  }
  const Result<ModelName> parsed = parse_name(name);
  const CatalogueEntry* entry = find(entries_, *parsed);
  Result<std::string> stored = stored_path(*parsed);
  if (stored) return Resolved{.path = *stored, .name = parsed->text(), .entry = entry};
  if (entry)
    return Resolved{
        .path = {}, .name = parsed->text(), .entry = entry};  // a damaged one is pulled again
  if (stored.error().code != ErrorCode::kNotFound)
    return std::unexpected(std::move(stored.error()));
  return fail(ErrorCode::kNotFound,
              fmt::format("There is no file, catalogue model or stored model \"{}\"; the catalogue "
                          "has: {}.",
                          name, catalogue_names()));
}

Result<std::vector<StoredModel>> Store::list() const {
  std::vector<StoredModel> models;
  for (const Found& found : find_manifests(root_)) {
    const Result<std::string> text = read_text(found.path, kMaxManifestBytes);
    const Result<Manifest> manifest = text ? read_manifest(*text) : std::unexpected(text.error());
    if (!manifest) {
      base::log_warning("The manifest {} is left out: {}", found.path, manifest.error().text());
      continue;
    }
    StoredModel model{.name = found.name.text(), .digest = sha256_hex(*text)};
    for (const Layer& layer : manifest->layers) model.bytes += layer.bytes;
    struct stat info{};
    if (::stat(found.path.c_str(), &info) == 0) model.modified_s = info.st_mtime;
    if (const Result<std::string> config =
            read_text(blob_path(manifest->config.sha256), kMaxManifestBytes);
        config) {
      const Result<Json> json = Json::parse(*config);
      const auto field = [&](std::string_view key) {
        return json ? json->get_string(key).value_or("") : std::string();
      };
      model.family = field("model_family");
      model.parameters = field("model_type");
      model.file_type = field("file_type");
    }
    models.push_back(std::move(model));
  }
  return models;
}

Result<void> Store::remove(std::string_view name) const {
  PUNA_TRY(const ModelName wanted, parse_name(name));
  const std::string path = manifest_path(wanted);
  if (file_bytes(path) < 0) {
    return fail(ErrorCode::kNotFound, fmt::format("The store has no model \"{}\".", wanted.text()));
  }
  const Result<Manifest> removed = load_manifest(path);
  remove_file(path);
  if (file_bytes(path) >= 0)
    return fail(ErrorCode::kIo, fmt::format("The manifest {} cannot be deleted.", path));
  std::error_code ignored;
  fs::remove(fs::path(path).parent_path(), ignored);  // only when it is empty now
  if (!removed) return {};

  std::set<std::string> used;
  for (const Found& found : find_manifests(root_)) {
    const Result<Manifest> other = load_manifest(found.path);
    if (!other) {
      base::log_warning("No blobs are deleted, since a manifest is damaged: {}",
                        other.error().text());
      return {};
    }
    used.insert(other->config.sha256);
    for (const Layer& layer : other->layers) used.insert(layer.sha256);
  }
  std::vector<Layer> layers = removed->layers;
  layers.push_back(removed->config);
  for (const Layer& layer : layers) {
    if (!used.contains(layer.sha256)) remove_file(blob_path(layer.sha256));
  }
  return {};
}

}  // namespace puna::store
