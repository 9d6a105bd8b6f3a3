#include "store/changes.h"

#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <system_error>

#include "base/log.h"
#include "store/files.h"
#include "store/part_links.h"

namespace puna::store {
namespace {

namespace fs = std::filesystem;
using base::ErrorCode;
using base::fail;
using base::Result;

constexpr std::string_view kBlobPrefix = "sha256-";

int64_t now_s() {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

// What a file name in the folder of blobs says.
struct BlobFile {
  std::optional<Digest> digest;
  std::string_view suffix;
};

BlobFile read_blob_name(std::string_view name) {
  constexpr size_t kHexDigits = 64;
  if (!name.starts_with(kBlobPrefix) || name.size() < kBlobPrefix.size() + kHexDigits) return {};
  name.remove_prefix(kBlobPrefix.size());
  return {Digest::from_hex(name.substr(0, kHexDigits)), name.substr(kHexDigits)};
}

// What a manifest needs: its blobs, and the links of its parts.
std::vector<Digest> digests_of(const Manifest& manifest) {
  std::vector<Digest> digests;
  for (const Layer& layer : manifest.blobs()) digests.push_back(layer.digest);
  const std::vector<Layer> parts = manifest.all(kModelType);
  if (parts.size() > 1) digests.push_back(split_key(parts));
  return digests;
}

// Deletes what a manifest needed, unless it is `used`, or a blob is held by a pull.
void delete_unused(const Layout& layout, const Manifest& manifest, const std::set<Digest>& used) {
  for (const Digest& digest : digests_of(manifest)) {
    if (used.contains(digest)) continue;
    const auto lock = FileLock::try_take(layout.path(Layout::Kind::kLock, digest));
    if (!lock || !*lock) continue;
    remove_file(layout.blob(digest));
    std::error_code ignored;
    fs::remove_all(layout.path(Layout::Kind::kSplit, digest), ignored);
  }
}

// The lock of manifests is held.
Result<void> put_locked(const Layout& layout, const ModelName& name, std::string_view text) {
  PUNA_TRY(const Manifest manifest, read_manifest(text));
  if (const std::vector<Layer> parts = manifest.all(kModelType); parts.size() > 1)
    PUNA_TRY(link_parts(layout, parts));
  const std::string path = layout.manifest(name);
  const Result<Manifest> before = load_manifest(path);
  PUNA_TRY(write_text(path, text));
  if (!before) return {};
  // Of another's damaged manifest nobody knows what it needs: then nothing is deleted.
  if (const auto used = used_digests(layout); used) delete_unused(layout, *before, *used);
  return {};
}

// Folders that are empty now, up to that of all manifests.
void remove_empty_folders(const Layout& layout, fs::path folder) {
  std::error_code error;
  while (folder.string().size() > layout.manifests_root().size() && fs::remove(folder, error))
    folder = folder.parent_path();
}

}  // namespace

Result<FileLock> lock_manifests(const Layout& layout) {
  return FileLock::take(layout.manifests_lock(), []() -> Result<void> { return {}; });
}

Result<void> put_manifest(const Layout& layout, const ModelName& name, std::string_view text) {
  PUNA_TRY(const FileLock lock, lock_manifests(layout));
  return put_locked(layout, name, text);
}

Result<void> copy_manifest(const Layout& layout, const ModelName& from, const ModelName& to) {
  PUNA_TRY(const FileLock lock, lock_manifests(layout));
  // Whoever removes the model in between does so under the lock: what it names is there as long as
  // its manifest is.
  const std::optional<ManifestFile> file = layout.find(from);
  if (!file)
    return fail(ErrorCode::kNotFound, fmt::format("{} was removed meanwhile.", from.text()));
  PUNA_TRY(const std::string text, read_text(file->path, kMaxManifestBytes));
  return put_locked(layout, to, text);
}

Result<void> mend_links(const Layout& layout, const Manifest& manifest) {
  const std::vector<Layer> parts = manifest.all(kModelType);
  if (parts.size() < 2 || linked_path(layout, parts)) return {};
  PUNA_TRY(const FileLock lock, lock_manifests(layout));
  return link_parts(layout, parts);
}

Result<std::set<Digest>> used_digests(const Layout& layout) {
  std::set<Digest> used;
  for (const ManifestFile& file : layout.manifests()) {
    PUNA_TRY(const Manifest manifest, load_manifest(file.path));
    for (const Digest& digest : digests_of(manifest)) used.insert(digest);
  }
  return used;
}

Result<void> remove_manifest(const Layout& layout, const ManifestFile& file) {
  PUNA_TRY(const FileLock lock, lock_manifests(layout));
  const Result<Manifest> removed = load_manifest(file.path);
  remove_file(file.path);
  if (file_bytes(file.path) >= 0)
    return fail(ErrorCode::kIo, fmt::format("The manifest {} cannot be deleted.", file.path));
  remove_empty_folders(layout, fs::path(file.path).parent_path());
  if (!removed) return {};
  const auto used = used_digests(layout);
  if (!used) {
    base::log_warning("No blobs are deleted, since a manifest is damaged: {}", used.error().text());
    return {};
  }
  delete_unused(layout, *removed, *used);
  return {};
}

std::vector<Leftover> leftovers(const Layout& layout, const std::set<Digest>& used) {
  std::vector<Leftover> found;
  for (const std::string& name : names_in(layout.blobs())) {
    const std::string path = layout.blobs() + "/" + name;
    const auto [digest, suffix] = read_blob_name(name);
    std::error_code error;
    const bool is_folder = fs::is_directory(path, error);
    if (name.starts_with(kAsidePrefix)) {
      found.push_back({.path = path, .is_folder = is_folder});
    } else if (digest && suffix == ".lock") {
      found.push_back({.path = path, .lock = path});
    } else if (digest && (!suffix.empty() || !used.contains(*digest))) {
      found.push_back({.path = path,
                       .is_part = !suffix.empty(),
                       .is_folder = is_folder,
                       .lock = layout.path(Layout::Kind::kLock, *digest)});
    }
  }
  for (const std::string& name : names_in(layout.splits())) {
    const auto digest = Digest::from_hex(name);
    if (!digest || used.contains(*digest)) continue;
    found.push_back({.path = layout.splits() + "/" + name,
                     .is_folder = true,
                     .lock = layout.path(Layout::Kind::kLock, *digest)});
  }
  std::error_code error;
  for (auto it = fs::recursive_directory_iterator(layout.manifests_root(), error);
       !error && it != fs::recursive_directory_iterator(); it.increment(error)) {
    if (it->path().filename().string().starts_with(kAsidePrefix))
      found.push_back({.path = it->path().string()});
  }
  return found;
}

std::vector<std::string> delete_leftovers(const std::vector<Leftover>& found,
                                          const CollectOptions& options) {
  std::vector<std::string> deleted;
  for (const Leftover& each : found) {
    // A time in the future is that of a clock set back: such a file is as good as new.
    const int64_t age_s = now_s() - file_modified_s(each.path);
    if (age_s < (each.is_part ? options.min_part_age_s : options.min_age_s)) continue;
    std::optional<FileLock> lock;
    if (!each.lock.empty()) {
      auto taken = FileLock::try_take(each.lock);
      if (!taken || !*taken) continue;
      lock.emplace(**std::move(taken));
    }
    std::error_code error;
    if (each.lock == each.path) {
      lock.reset();  // which deletes it
    } else {
      fs::remove_all(each.path, error);
    }
    if (!error) deleted.push_back(each.path);
  }
  return deleted;
}

Result<std::vector<std::string>> collect(const Layout& layout, const CollectOptions& options) {
  if (names_in(layout.blobs()).empty()) return std::vector<std::string>();
  PUNA_TRY(const FileLock lock, lock_manifests(layout));
  const auto used = used_digests(layout);
  if (!used) {
    base::log_warning("Nothing is collected, since a manifest is damaged: {}", used.error().text());
    return std::vector<std::string>();
  }
  return delete_leftovers(leftovers(layout, *used), options);
}

}  // namespace puna::store
