#include "service/weight_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/printable.h"
#include "formats/open.h"
#include "store/parts.h"

namespace puna::service {

using base::ErrorCode;
using base::Result;
using store::Store;
using store::StoredModel;

namespace {

namespace fs = std::filesystem;

// The architecture that files of projectors have.
constexpr std::string_view kProjector = "clip";

Result<formats::ModelFile> open_path(const std::string& path, std::string_view shown) {
  PUNA_TRY_CONTEXT(formats::ModelFile file, base::run_until(formats::open_model(path), [] {}),
                   fmt::format("While opening {}", base::printable(shown)));
  return file;
}

bool is_projector(const formats::ModelFile& file) {
  return file.get_string("general.architecture", "").value_or("") == kProjector;
}

// Names of files that become links: of one folder, and of nothing else.
Result<void> check_file_name(const std::string& name) {
  constexpr size_t kLongest = 255;
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
  };
  if (!name.empty() && name.size() <= kLongest && name[0] != '.' && std::ranges::all_of(name, fits))
    return {};
  return base::fail(ErrorCode::kInvalidArgument,
                    fmt::format("invalid file name \"{}\": letters, digits, '.', '_' and '-' may "
                                "be in it",
                                base::printable(name.substr(0, 100))));
}

std::vector<WeightFile> files_of(const formats::ModelFile& model) {
  std::vector<WeightFile> out;
  if (model.stored_metadata.empty()) return out;  // of Hugging Face or MLC: written as GGUF
  for (const std::string& path : model.paths) out.push_back({.path = path});
  return out;
}

Result<WeightSource> from_path(const std::string& path, std::string_view shown,
                               const CreateOptions& options) {
  WeightSource out;
  std::error_code error;
  options.progress({.status = fs::is_directory(path, error) ? "converting model" : "parsing GGUF"});
  PUNA_TRY(out.model, open_path(path, shown));
  if (is_projector(out.model)) {
    return base::fail(ErrorCode::kInvalidArgument,
                      fmt::format("{} is a projector, and no model.", base::printable(shown)));
  }
  out.parts = files_of(out.model);
  PUNA_TRY(const bool sees, formats::has_encoder(path));
  if (sees) {
    PUNA_TRY_CONTEXT(out.encoder, base::run_until(formats::open_encoder(path), [] {}),
                     fmt::format("While opening the encoder of {}", base::printable(shown)));
  }
  return out;
}

Result<void> add_projector(WeightSource& source, const std::string& path, std::string_view shown) {
  PUNA_TRY(const formats::ModelFile file, open_path(path, shown));
  if (!is_projector(file)) {
    return base::fail(
        ErrorCode::kInvalidArgument,
        fmt::format("{} is no projector, but there is a model already.", base::printable(shown)));
  }
  source.projectors.push_back({.path = path});
  source.encoder.reset();
  return {};
}

Result<WeightSource> from_stored(const Store& store, const StoredModel& stored,
                                 const CreateOptions& options) {
  PUNA_TRY(WeightSource out, from_path(stored.path, stored.name.text(), options));
  if (stored.store.empty()) {
    if (!stored.projector.empty()) out.projectors.push_back({.path = stored.projector});
    return out;
  }
  const bool is_own = stored.store == store.layout().models();
  const store::Layout layout(stored.store);
  PUNA_TRY(const store::Manifest manifest, store::manifest_of(stored));
  const auto blobs = [&](std::string_view media_type) {
    std::vector<WeightFile> files;
    for (const store::Layer& layer : manifest.all(media_type)) {
      files.push_back({.path = layout.blob(layer.digest), .layer = layer, .is_own = is_own});
    }
    return files;
  };
  out.parts = blobs(store::kModelType);
  out.projectors = blobs(store::kProjectorType);
  PUNA_TRY(const store::ModelParts parts, store::parts_of(stored));
  PUNA_TRY(out.said, store::modelfile_of(parts));
  return out;
}

// A model by its name; what is not there and can be fetched is.
Result<WeightSource> from_name(const Store& store, const std::string& name,
                               const CreateOptions& options) {
  Result<StoredModel> found = store.find(name);
  if (!found && found.error().code == ErrorCode::kNotFound) {
    const Result<store::Resolved> resolved = store.resolve(name);
    if (resolved && resolved->needs_pull()) {
      options.progress({.status = "pulling manifest"});
      PUNA_TRY(store.pull(name, options.pull));
      found = store.find(name);
    }
  }
  PUNA_TRY(const StoredModel stored, std::move(found));
  return from_stored(store, stored, options);
}

// Whether it is written as no name of a model is.
bool looks_like_path(std::string_view from) {
  return from.starts_with('/') || from.starts_with('.') || from.starts_with('~') ||
         from.ends_with(".gguf");
}

// A file or folder that `from` names; none where there is nothing by that name, and it may be that
// of a model. Errors: kNotFound, kIo where nobody can look.
Result<std::optional<std::string>> path_of(const std::string& from, const std::string& folder) {
  if (from.contains('\0')) return std::nullopt;
  fs::path path(from);
  if (from == "~" || from.starts_with("~/"))
    path = fs::path(store::variable("HOME")) / from.substr(std::min<size_t>(2, from.size()));
  if (path.is_relative()) path = fs::path(folder.empty() ? "." : folder) / path;
  std::error_code error;
  if (fs::exists(path, error)) return path.string();
  if (!looks_like_path(from)) return std::nullopt;
  if (error) {
    return base::fail(ErrorCode::kIo, fmt::format("\"{}\" cannot be opened: {}.",
                                                  base::printable(from), error.message()));
  }
  return base::fail(ErrorCode::kNotFound, fmt::format("There is no file or folder \"{}\".",
                                                      base::printable(path.string())));
}

Result<WeightSource> from_files(const Store& store, const CreateRequest& request,
                                const CreateOptions& options) {
  PUNA_TRY(LinkFolder links, LinkFolder::create(store.layout(), request.files));
  std::vector<std::string> ggufs;
  for (const auto& [name, digest] : request.files) {
    PUNA_TRY(const bool is_gguf, store::begins_with(store.layout().blob(digest), "GGUF"));
    if (is_gguf) ggufs.push_back(name);
  }
  std::ranges::sort(ggufs);
  const auto path_in = [&](const std::string& name) { return links.path() + "/" + name; };
  const auto own = [&](WeightFile& file) {
    for (const auto& [name, digest] : request.files) {
      if (path_in(name) != file.path) continue;
      const auto bytes = store::file_bytes(store.layout().blob(digest));
      file.layer = store::Layer{.media_type = {},
                                .digest = digest,
                                .bytes = static_cast<uint64_t>(std::max<int64_t>(bytes, 0))};
      file.is_own = true;
    }
  };
  WeightSource out;
  if (ggufs.empty()) {
    PUNA_TRY(out, from_path(links.path(), "the files", options));
  } else {
    std::vector<std::string> projectors;
    std::optional<WeightSource> found;
    for (const std::string& name : ggufs) {
      const auto is_part = [&](const WeightFile& part) { return part.path == path_in(name); };
      if (found && std::ranges::any_of(found->parts, is_part)) continue;
      PUNA_TRY(const formats::ModelFile file, open_path(path_in(name), name));
      if (is_projector(file)) {
        projectors.push_back(name);
      } else if (!found) {
        PUNA_TRY(found, from_path(path_in(name), name, options));
      } else {
        return base::fail(ErrorCode::kInvalidArgument,
                          fmt::format("The files hold several models, of which {} is one.", name));
      }
    }
    if (!found)
      return base::fail(ErrorCode::kInvalidArgument, "The files hold no model, but a projector.");
    out = *std::move(found);
    for (const std::string& name : projectors) out.projectors.push_back({.path = path_in(name)});
  }
  for (WeightFile& part : out.parts) own(part);
  for (WeightFile& projector : out.projectors) own(projector);
  out.links.emplace(std::move(links));
  return out;
}

}  // namespace

Result<LinkFolder> LinkFolder::create(
    const store::Layout& layout, const std::vector<std::pair<std::string, store::Digest>>& files) {
  for (const auto& [name, digest] : files) {
    PUNA_TRY(check_file_name(name));
    if (store::file_bytes(layout.blob(digest)) >= 0) continue;
    return base::fail(ErrorCode::kInvalidArgument,
                      fmt::format("the blob {} of \"{}\" was not sent", digest.text(), name));
  }
  PUNA_TRY(std::string folder, store::make_aside_folder(layout.blobs()));
  LinkFolder out(std::move(folder));
  for (const auto& [name, digest] : files) {
    std::error_code error;
    const fs::path blob = fs::absolute(layout.blob(digest), error);
    if (!error) fs::create_symlink(blob, out.path_ + "/" + name, error);
    if (error) {
      return std::unexpected(
          store::system_error("make the link", out.path_ + "/" + name, error.value()));
    }
  }
  return out;
}

LinkFolder::~LinkFolder() {
  std::error_code ignored;
  if (!path_.empty()) fs::remove_all(path_, ignored);
}

Result<WeightSource> find_weights(const Store& store, const CreateRequest& request,
                                  const CreateOptions& options) {
  const std::vector<std::string>& from = request.modelfile.from;
  if (from.empty() == request.files.empty()) {
    return base::fail(ErrorCode::kInvalidArgument, from.empty()
                                                       ? "neither 'from' or 'files' was specified"
                                                       : "both 'from' and 'files' were specified");
  }
  if (from.empty()) return from_files(store, request, options);
  WeightSource out;
  for (size_t i = 0; i < from.size(); ++i) {
    std::optional<std::string> path;
    if (request.paths) {
      PUNA_TRY(path, path_of(from[i], request.folder));
    }
    if (i > 0) {
      if (!path)
        return base::fail(ErrorCode::kNotFound,
                          fmt::format("There is no file \"{}\".", base::printable(from[i])));
      PUNA_TRY(add_projector(out, *path, from[i]));
    } else if (path) {
      PUNA_TRY(out, from_path(*path, from[i], options));
    } else {
      PUNA_TRY(out, from_name(store, from[i], options));
    }
  }
  return out;
}

}  // namespace puna::service
