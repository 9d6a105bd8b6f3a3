#include "store/pull/fetch.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/log.h"
#include "store/changes.h"
#include "store/files.h"
#include "store/locks.h"
#include "store/places/places.h"
#include "store/sha256.h"

namespace puna::store {
namespace {

using base::ErrorCode;
using base::fail;
using base::Result;

// Whether the blob is there, to the last bit. Errors: kIo, kCancelled.
Result<bool> is_whole(const std::string& path, const Layer& layer, Reporter& reporter) {
  if (file_bytes(path) != static_cast<int64_t>(layer.bytes)) return false;
  reporter.phase("verifying", "", layer.digest, layer.bytes);
  PUNA_TRY(const Digest found,
           sha256_of_file(path, [&](uint64_t done) { return reporter.at(done); }));
  return found == layer.digest;
}

// The lock of a blob. Where another pull has it, that one's progress is shown as our own.
Result<FileLock> lock_blob(const Layout& layout, const Layer& layer, Reporter& reporter) {
  bool told = false;
  return FileLock::take(layout.path(Layout::Kind::kLock, layer.digest), [&]() -> Result<void> {
    if (!told) reporter.phase("downloading", "another pull", layer.digest, layer.bytes);
    told = true;
    return reporter.at(
        PartFile::done_bytes(layout.path(Layout::Kind::kPart, layer.digest), layer.bytes));
  });
}

Result<std::string> opened_path(const Layout& layout, const ModelName& name) {
  PUNA_TRY(const StoredModel model,
           stored_model(layout, {name, layout.manifest(name)}, Origin::kPuna));
  return model.path;
}

uint64_t held_bytes(const Layout& layout, const WantedBlob& blob) {
  const Layer& layer = blob.layer;
  return PartFile::done_bytes(
      blob.part.empty() ? layout.path(Layout::Kind::kPart, layer.digest) : blob.part, layer.bytes);
}

// In one order for all pulls, so that of two neither waits for a lock while the other waits for one
// of its; the largest first, so that what fails leaves little. Each once.
std::vector<const WantedBlob*> in_order(const std::vector<WantedBlob>& wanted) {
  std::vector<const WantedBlob*> blobs;
  for (const WantedBlob& blob : wanted) blobs.push_back(&blob);
  const auto order = [](const WantedBlob* blob) {
    return std::pair(~blob->layer.bytes, blob->layer.digest);
  };
  std::ranges::sort(blobs, {}, order);
  blobs.erase(std::ranges::unique(blobs, {}, order).begin(), blobs.end());
  return blobs;
}

Result<void> get(const Layout& layout, const WantedBlob& blob, bool known_missing,
                 Reporter& reporter) {
  const std::string path = layout.blob(blob.layer.digest);
  bool whole = !known_missing;
  if (known_missing) {  // unless another pull has just mended it
    PUNA_TRY(whole, is_whole(path, blob.layer, reporter));
  } else if (file_bytes(path) != static_cast<int64_t>(blob.layer.bytes)) {
    whole = false;  // removed since it was looked at
  }
  if (whole) return {};
  if (file_bytes(path) >= 0) {
    base::log_warning("The file {} is damaged; it is deleted and fetched again.", path);
    remove_file(path);
  }
  PUNA_TRY(blob.fetch(layout, blob.layer, reporter));
  remove_file(layout.path(Layout::Kind::kPart, blob.layer.digest));
  return {};
}

}  // namespace

Result<std::string> carry_out(const Layout& layout, const PullPlan& plan, Reporter& reporter) {
  PUNA_TRY(reporter.go_on());
  PUNA_TRY(layout.check_version());
  // Before anything is reckoned with sizes that somebody else tells.
  PUNA_TRY_CONTEXT(const Manifest manifest, read_manifest(plan.manifest),
                   fmt::format("While reading what {} is made of", plan.name.text()));
  const std::vector<const WantedBlob*> blobs = in_order(plan.blobs);
  std::vector<bool> missing;
  uint64_t needed = 0;
  for (const WantedBlob* blob : blobs) {
    PUNA_TRY(const bool whole, is_whole(layout.blob(blob->layer.digest), blob->layer, reporter));
    missing.push_back(!whole);
    if (!whole) needed += blob->layer.bytes - held_bytes(layout, *blob);
  }
  const bool any_missing = std::ranges::find(missing, true) != missing.end();
  // Nothing is written where nothing is to do: the store may be one that others share to read.
  if (const auto text = read_text(layout.manifest(plan.name), kMaxManifestBytes);
      !any_missing && text && *text == plan.manifest) {
    PUNA_TRY(mend_links(layout, manifest));
    return opened_path(layout, plan.name);
  }

  PUNA_TRY_CONTEXT(layout.prepare(),
                   "While making the store; PUNA_HOME names another folder for it");
  PUNA_TRY(check_space(layout.blobs(), plan.name.text(), needed));
  std::vector<FileLock> locks;  // until the manifest says that the blobs are needed
  for (size_t i = 0; i < blobs.size(); ++i) {
    PUNA_TRY(FileLock lock, lock_blob(layout, blobs[i]->layer, reporter));
    if (blobs[i]->part.empty()) PUNA_TRY(get(layout, *blobs[i], missing[i], reporter));
    locks.push_back(std::move(lock));
  }
  // Last, since what fails before leaves it for the next pull, which knows it by its address alone.
  for (size_t i = 0; i < blobs.size(); ++i) {
    if (!blobs[i]->part.empty()) PUNA_TRY(get(layout, *blobs[i], missing[i], reporter));
  }
  PUNA_TRY(put_manifest(layout, plan.name, plan.manifest));
  PUNA_TRY(collect(layout, {}));
  return opened_path(layout, plan.name);
}

Result<void> mend(const Layout& layout, const PullPlan& plan, std::vector<Layer>& damaged,
                  Reporter& reporter) {
  const auto find = [&](const Layer& wanted) {
    return std::ranges::find_if(damaged, [&](const Layer& layer) {
      return layer.digest == wanted.digest && layer.bytes == wanted.bytes;
    });
  };
  std::vector<const WantedBlob*> blobs = in_order(plan.blobs);
  std::erase_if(blobs, [&](const WantedBlob* blob) { return find(blob->layer) == damaged.end(); });
  uint64_t needed = 0;
  for (const WantedBlob* blob : blobs) needed += blob->layer.bytes - held_bytes(layout, *blob);
  PUNA_TRY(check_space(layout.blobs(), plan.name.text(), needed));
  for (const WantedBlob* blob : blobs) {
    PUNA_TRY(const FileLock lock, lock_blob(layout, blob->layer, reporter));
    PUNA_TRY(get(layout, *blob, /*known_missing=*/true, reporter));
    damaged.erase(find(blob->layer));
  }
  return {};
}

WantedBlob wanted_text(std::string_view media_type, std::string text) {
  Layer layer{std::string(media_type), sha256_of(text), text.size()};
  return {.layer = std::move(layer),
          .fetch = [text = std::move(text)](const Layout& layout, const Layer& each, Reporter&) {
            return write_text(layout.blob(each.digest), text);
          }};
}

WantedBlob wanted_download(std::string_view media_type, BlobSource source) {
  Layer layer{std::string(media_type), source.digest.value_or(Digest()), source.bytes};
  return {.layer = std::move(layer),
          .fetch = [source = std::move(source)](const Layout& layout, const Layer& each,
                                                Reporter& reporter) {
            return fetch_blob(layout, each, source, reporter);
          }};
}

Result<void> fetch_blob(const Layout& layout, const Layer& layer, BlobSource source,
                        Reporter& reporter) {
  const std::string part = layout.path(Layout::Kind::kPart, layer.digest);
  PUNA_TRY(download(std::move(source), part, reporter));
  return PartFile::place(part, layer.bytes, layout.blob(layer.digest));
}

PullPlan plan_of(ModelName name, const ConfigFields& fields, std::vector<WantedBlob> layers) {
  Manifest manifest;
  for (const WantedBlob& blob : layers) manifest.layers.push_back(blob.layer);
  WantedBlob config = wanted_text(kConfigType, write_config(fields, manifest.layers));
  manifest.config = config.layer;
  PullPlan plan{.name = std::move(name), .manifest = write_manifest(manifest)};
  plan.blobs = std::move(layers);
  plan.blobs.push_back(std::move(config));
  return plan;
}

Result<void> accept_blob(const std::string& file, const Layer& layer, const std::string& blob,
                         Reporter& reporter) {
  reporter.phase("verifying", "", layer.digest, layer.bytes);
  PUNA_TRY(const Digest found,
           sha256_of_file(file, [&](uint64_t done) { return reporter.at(done); }));
  if (found != layer.digest) {
    remove_file(file);
    return fail(ErrorCode::kCorrupt,
                fmt::format("The SHA-256 of the file is {}, but {} is expected; it was deleted.",
                            found.hex(), layer.digest.hex()));
  }
  return rename_file(file, blob);
}

}  // namespace puna::store
