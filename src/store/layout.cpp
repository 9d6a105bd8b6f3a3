#include "store/layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <system_error>

#include "store/files.h"

namespace puna::store {
namespace {

namespace fs = std::filesystem;
using base::ErrorCode;
using base::Result;

constexpr int kVersion = 1;
constexpr uint64_t kMaxVersionBytes = 64;

std::string version_path(const std::string& models) { return models + "/version"; }

// `wanted` as the folder has it, in whatever case; itself when the folder has none.
std::string as_written(const std::string& folder, const std::string& wanted) {
  std::error_code error;
  if (fs::exists(folder + "/" + wanted, error)) return wanted;
  const std::string folded = lower_case(wanted);
  for (const std::string& name : names_in(folder)) {
    if (lower_case(name) == folded) return name;
  }
  return wanted;
}

}  // namespace

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (auto it = fs::directory_iterator(folder, error); !error && it != fs::directory_iterator();
       it.increment(error)) {
    names.push_back(it->path().filename().string());
  }
  std::ranges::sort(names);
  return names;
}

std::string Layout::path(Kind kind, const Digest& digest) const {
  constexpr std::string_view kSuffixes[] = {"", ".part", ".lock", ".wheels", ".wheel"};
  if (kind == Kind::kSplit) return fmt::format("{}/{}", splits(), digest.hex());
  return fmt::format("{}/sha256-{}{}", blobs(), digest.hex(), kSuffixes[static_cast<size_t>(kind)]);
}

std::string Layout::manifest(const ModelName& name) const {
  std::string path = manifests_root();
  for (const std::string* part : {&name.host, &name.space, &name.model, &name.tag})
    path += "/" + as_written(path, *part);
  return path;
}

std::optional<ManifestFile> Layout::find(const ModelName& name) const {
  const fs::path path(manifest(name));
  if (file_bytes(path.string()) < 0) return std::nullopt;
  const fs::path model = path.parent_path(), space = model.parent_path();
  return ManifestFile{.name = {.host = space.parent_path().filename().string(),
                               .space = space.filename().string(),
                               .model = model.filename().string(),
                               .tag = path.filename().string()},
                      .path = path.string()};
}

std::vector<ManifestFile> Layout::manifests() const {
  std::vector<ManifestFile> found;
  const std::string root = manifests_root();
  for (const std::string& host : names_in(root)) {
    for (const std::string& space : names_in(fmt::format("{}/{}", root, host))) {
      for (const std::string& model : names_in(fmt::format("{}/{}/{}", root, host, space))) {
        const std::string folder = fmt::format("{}/{}/{}/{}", root, host, space, model);
        for (const std::string& tag : names_in(folder)) {
          Result<ModelName> name = parse_name(fmt::format("{}/{}/{}:{}", host, space, model, tag));
          std::string path = fmt::format("{}/{}", folder, tag);
          if (name && file_bytes(path) >= 0) found.push_back({*std::move(name), std::move(path)});
        }
      }
    }
  }
  return found;
}

Result<void> Layout::check_version() const {
  const Result<std::string> text = read_text(version_path(models_), kMaxVersionBytes);
  if (!text) return {};  // none is written until something is stored
  int version = 0;
  std::from_chars(text->data(), text->data() + text->size(), version);
  if (version <= kVersion) return {};
  return base::fail(ErrorCode::kUnsupported,
                    fmt::format("The store {} is of version {}, and this Puna knows versions up to "
                                "{}; use a newer Puna, or another folder as PUNA_HOME.",
                                models_, version, kVersion));
}

Result<void> Layout::prepare() const {
  PUNA_TRY(check_version());
  PUNA_TRY(make_folders(blobs()));
  PUNA_TRY(make_folders(manifests_root()));
  if (file_bytes(version_path(models_)) >= 0) return {};
  return write_text(version_path(models_), fmt::format("{}\n", kVersion));
}

}  // namespace puna::store
