#include "store/store.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "base/edit_distance.h"
#include "store/changes.h"
#include "store/files.h"
#include "store/manifest.h"

namespace puna::store {
namespace {

namespace fs = std::filesystem;
using base::ErrorCode;
using base::fail;
using base::Result;

bool exists(std::string_view path) {
  std::error_code error;
  return !path.contains('\0') && fs::exists(fs::path(path), error);
}

bool is_name(std::string_view text) {
  return parse_name(text).has_value() && !text.ends_with(".gguf");
}

// Whether a MODEL argument is a path. A folder without weights that is called as a model is may be
// there by chance, in whatever folder a command is given.
bool is_path(std::string_view text) {
  if (!exists(text)) return false;
  std::error_code error;
  const fs::path path(text);
  return !is_name(text) || !fs::is_directory(path, error) ||
         exists((path / "config.json").string()) ||
         exists((path / "mlc-chat-config.json").string());
}

bool is_of_catalogue(const ModelName& name) {
  return name.host == kPunaHost && name.space == kCatalogueSpace;
}

// The names that a text may mean, in the order of search. What only has a model and a tag may also
// be of an earlier catalogue, or the name of a file; `name` of the catalogue means that model
// alone.
std::vector<ModelName> meanings(std::string_view text, const ModelName& name) {
  std::vector<ModelName> names = {name};
  if (!is_bare(text) || is_of_catalogue(name)) return names;
  const auto add = [&](std::string_view host, std::string_view space) {
    ModelName other{std::string(host), std::string(space), name.model, name.tag};
    if (!(other == name)) names.push_back(std::move(other));
  };
  add(kDefaultHost, kDefaultSpace);
  add(kPunaHost, kCatalogueSpace);
  add(kPunaHost, kFilesSpace);
  return names;
}

Resolved found(const StoredModel& model, const CatalogueEntry* entry) {
  return {.path = model.path,
          .name = model.name.text(),
          .projector = model.projector,
          .entry = entry,
          .stored = model};
}

}  // namespace

Result<std::string> default_root() {
  if (std::string root = variable("PUNA_HOME"); !root.empty()) return root;
  if (std::string home = variable("HOME"); !home.empty()) return home + "/.puna";
  return fail(ErrorCode::kNotFound,
              "Neither PUNA_HOME nor HOME is set, so there is no place for models; set PUNA_HOME.");
}

Result<Resolved> resolve(std::string_view name) {
  if (is_path(name)) return Resolved{.path = std::string(name)};
  // What is no name is not looked for in a store.
  if (!is_name(name)) return Store("").resolve(name);
  PUNA_TRY(const Store store, Store::of_environment());
  return store.resolve(name);
}

Result<Store> Store::of_environment() {
  PUNA_TRY(std::string root, default_root());
  return Store(std::move(root), catalogue(), places_of_environment());
}

Store::Store(std::string root, std::span<const CatalogueEntry> entries, std::vector<Place> others)
    : root_(std::move(root)),
      layout_(root_ + "/models"),
      entries_(entries),
      others_(std::move(others)) {}

std::string Store::catalogue_names() const {
  std::string names;
  for (const CatalogueEntry& entry : entries_) {
    if (!names.empty()) names += ", ";
    names += entry.tag == "latest" ? std::string(entry.model) : entry.name().text();
  }
  return names;
}

Result<ModelName> Store::named(std::string_view text) const {
  PUNA_TRY(ModelName name, parse_name(text));
  if (!is_bare(text)) return name;
  ModelName ours{std::string(kPunaHost), std::string(kCatalogueSpace), name.model, name.tag};
  return store::find(entries_, ours) ? std::move(ours) : std::move(name);
}

std::string Store::shown_name(const ModelName& name) const {
  std::string text = name.text();
  const Result<ModelName> meant = named(text);
  if (!meant || !is_of_catalogue(*meant) || *meant == name) return text;
  return name.host == kPunaHost ? name.full() : fmt::format("{}/{}", name.space, text);
}

// What Puna's own store has by that name.
Result<StoredModel> Store::own(std::string_view text) const {
  PUNA_TRY(const ModelName wanted, named(text));
  PUNA_TRY(layout_.check_version());
  std::optional<base::Error> damaged;
  for (const ModelName& name : meanings(text, wanted)) {
    const std::optional<ManifestFile> file = layout_.find(name);
    if (!file) continue;
    Result<StoredModel> model = stored_model(layout_, *file, Origin::kPuna);
    if (model) return model;
    if (!damaged) damaged = std::move(model.error());
  }
  if (damaged) return std::unexpected(*std::move(damaged));
  return fail(ErrorCode::kNotFound,
              fmt::format("The store has no model \"{}\".", shown_name(wanted)));
}

// What another place has by that name.
std::optional<StoredModel> Store::elsewhere(std::string_view text, const ModelName& wanted) const {
  for (const Place& place : others_) {
    std::vector<StoredModel> models = models_in(place);
    for (const ModelName& meant : meanings(text, wanted)) {
      const auto model = std::ranges::find(models, meant, &StoredModel::name);
      if (model != models.end()) return std::move(*model);
    }
  }
  return std::nullopt;
}

std::unexpected<base::Error> Store::only_read(const StoredModel& model,
                                              std::string_view instead) const {
  const std::string folder = model.store.empty() ? model.path : model.store;
  return fail(ErrorCode::kUnsupported,
              fmt::format("{} lies in {} ({}), which Puna only reads; {}.", model.name.text(),
                          folder, origin_name(model.origin), instead));
}

Result<StoredModel> Store::find(std::string_view name) const {
  PUNA_TRY(const ModelName wanted, named(name));
  Result<StoredModel> stored = own(name);
  if (stored || stored.error().code != ErrorCode::kNotFound) return stored;
  const bool of_catalogue = store::find(entries_, wanted) != nullptr;
  if (!of_catalogue) {
    if (auto model = elsewhere(name, wanted)) return *std::move(model);
    if (!layout_.find(wanted)) return std::unexpected(unknown(name));
  }
  return stored;
}

base::Error Store::unknown(std::string_view name) const {
  std::string text =
      fmt::format("There is no file, catalogue model or stored model \"{}\"", name.substr(0, 300));
  const Result<std::vector<StoredModel>> models = list();
  std::string near;
  size_t least = base::most_mistakes(name) + 1;
  const auto look_at = [&](const ModelName& known) {
    const std::string shown =
        known.tag == kDefaultTag ? known.text().substr(0, known.text().rfind(':')) : known.text();
    const size_t d = base::edit_distance(lower_case(name), lower_case(shown));
    if (d >= least) return;
    least = d;
    near = shown;
  };
  for (const CatalogueEntry& entry : entries_) look_at(entry.name());
  if (models) {
    for (const StoredModel& model : *models) look_at(model.name);
  }
  if (!near.empty()) text += fmt::format("; did you mean \"{}\"?", near);
  return {
      ErrorCode::kNotFound,
      fmt::format("{}{} The catalogue has: {}.", text, near.empty() ? "." : "", catalogue_names()),
      {}};
}

Result<Resolved> Store::resolve(std::string_view name) const {
  if (is_path(name)) return Resolved{.path = std::string(name)};
  if (is_url(name)) {
    return fail(
        ErrorCode::kNotFound,
        fmt::format("\"{}\" is an address, and no model of this machine; `puna pull` fetches "
                    "what is there, and `puna list` says how it is called then.",
                    name));
  }
  if (!is_name(name)) {
    return fail(ErrorCode::kNotFound,
                fmt::format("There is no file or folder \"{}\", and it is no model name; the "
                            "catalogue has: {}.",
                            name, catalogue_names()));
  }
  PUNA_TRY(const ModelName wanted, named(name));
  const CatalogueEntry* entry = store::find(entries_, wanted);
  const Result<StoredModel> stored = own(name);
  if (stored) return found(*stored, entry);
  if (stored.error().code == ErrorCode::kUnsupported) return std::unexpected(stored.error());
  // The catalogue's model of that name is another than, say, ollama's.
  if (!entry) {
    if (const auto model = elsewhere(name, wanted)) return found(*model, nullptr);
  }
  // "a/b/c" is a path that is not there; "hf.co/b/c" is a name.
  const bool has_registry = std::ranges::count(name, '/') == 2 &&
                            wanted.host.find_first_of(".:") != std::string::npos &&
                            lower_case(wanted.host) != kPunaHost;
  if (entry || has_registry) {  // a damaged one is pulled again
    return Resolved{
        .path = {}, .name = wanted.text(), .projector = {}, .entry = entry, .stored = {}};
  }
  if (stored.error().code != ErrorCode::kNotFound ||
      layout_.find(wanted))  // of which a blob is missing
    return std::unexpected(stored.error());
  if (exists(name)) return Resolved{.path = std::string(name)};  // whoever opens it says what lacks
  return std::unexpected(unknown(name));
}

Result<std::vector<StoredModel>> Store::list() const {
  PUNA_TRY(layout_.check_version());
  std::vector<StoredModel> models = models_in({Origin::kPuna, root_ + "/models"});
  for (const Place& place : others_) {
    for (StoredModel& model : models_in(place)) models.push_back(std::move(model));
  }
  return models;
}

Result<void> Store::remove(std::string_view name) const {
  PUNA_TRY(const ModelName wanted, named(name));
  PUNA_TRY(layout_.check_version());
  for (const ModelName& meant : meanings(name, wanted)) {
    if (const auto file = layout_.find(meant)) return remove_manifest(layout_, *file);
  }
  if (const auto model = elsewhere(name, wanted)) return only_read(*model, "delete it there");
  return fail(ErrorCode::kNotFound,
              fmt::format("The store has no model \"{}\".", shown_name(wanted)));
}

Result<ModelName> Store::free_name(std::string_view text) const {
  PUNA_TRY(ModelName name, named(text));
  if (!store::find(entries_, name)) return name;
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("{} is a name of the catalogue; take another.", name.text()));
}

Result<void> Store::copy(std::string_view from, std::string_view to) const {
  PUNA_TRY(const ModelName name, free_name(to));
  Result<StoredModel> found = own(from);
  if (!found && found.error().code == ErrorCode::kNotFound) {
    PUNA_TRY(const ModelName wanted, named(from));
    if (const auto model = elsewhere(from, wanted))
      return only_read(*model, "`puna create` makes a model of it");
  }
  PUNA_TRY(const StoredModel model, std::move(found));
  PUNA_TRY(layout_.prepare());
  return copy_manifest(layout_, model.name, name);
}

Result<std::vector<std::string>> Store::collect(const CollectOptions& options) const {
  PUNA_TRY(layout_.check_version());
  return store::collect(layout_, options);
}

}  // namespace puna::store
