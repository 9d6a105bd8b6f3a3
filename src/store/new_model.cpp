#include "store/new_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "store/changes.h"
#include "store/files.h"
#include "store/locks.h"
#include "store/sha256.h"

namespace puna::store {
namespace {

using base::ErrorCode;
using base::Result;

using OnWaiting = std::function<Result<void>()>;

// Whether the blob is there as the layer has it. Errors: what `waiting` ends it with.
Result<bool> is_there(const std::string& path, const NewLayer& layer, const OnStatus& status,
                      const OnWaiting& waiting) {
  const uint64_t bytes = layer.layer.bytes;
  if (file_bytes(path) != static_cast<int64_t>(bytes)) return false;
  if (layer.is_text) return read_text(path, bytes).value_or("") == layer.text;
  if (!layer.file) return true;
  const std::string what = fmt::format("verifying existing layer {}", layer.layer.digest.text());
  status(what, 0, bytes);
  Result<void> go_on;
  const Result<Digest> found = sha256_of_file(path, [&](uint64_t done_bytes) {
    status(what, done_bytes, bytes);
    return go_on = waiting();
  });
  if (!go_on) return std::unexpected(std::move(go_on.error()));
  return found && *found == layer.layer.digest;  // one that cannot be read is damaged, too
}

// Its lock is held.
Result<void> put_blob(const Layout& layout, NewLayer& layer, const OnStatus& status,
                      const OnWaiting& waiting) {
  const Digest& digest = layer.layer.digest;
  const std::string path = layout.blob(digest);
  PUNA_TRY(const bool there, is_there(path, layer, status, waiting));
  if (there) {
    status(fmt::format("using existing layer {}", digest.text()), 0, 0);
    return {};
  }
  if (!layer.file && !layer.is_text) {
    const bool missing = file_bytes(path) < 0;
    return base::fail(missing ? ErrorCode::kNotFound : ErrorCode::kCorrupt,
                      fmt::format("The blob {} is {}.", digest.text(),
                                  missing ? "missing" : "not of the size that it should be"));
  }
  if (layer.file) {
    PUNA_TRY(layer.file->place(layout));
  } else {
    PUNA_TRY(write_text(path, layer.text));
  }
  status(fmt::format("creating new layer {}", digest.text()), 0, 0);
  return {};
}

}  // namespace

NewLayer NewLayer::of_text(std::string_view media_type, std::string text) {
  Layer layer{std::string(media_type), sha256_of(text), text.size()};
  return {.layer = std::move(layer), .text = std::move(text), .is_text = true};
}

NewLayer NewLayer::of_file(std::string_view media_type, std::unique_ptr<BlobFile> file) {
  Layer layer = file->layer(media_type);
  return {.layer = std::move(layer), .file = std::move(file)};
}

Result<void> put_model(const Layout& layout, NewModel model, const OnStatus& status,
                       const std::function<Result<void>()>& waiting) {
  Manifest manifest;
  for (const NewLayer& each : model.layers) manifest.layers.push_back(each.layer);
  model.layers.push_back(
      NewLayer::of_text(kConfigType, write_config(model.config, manifest.layers)));
  manifest.config = model.layers.back().layer;

  // In the order of pulls (pull/fetch.cpp), so that of two neither waits for a lock while the other
  // waits for one of its; each once, also where two layers are the same text.
  std::vector<NewLayer*> order;
  for (NewLayer& each : model.layers) order.push_back(&each);
  const auto by = [](const NewLayer* each) {
    return std::pair(~each->layer.bytes, each->layer.digest);
  };
  std::ranges::stable_sort(order, {}, by);
  order.erase(std::ranges::unique(order, {}, by).begin(), order.end());

  std::vector<FileLock> locks;  // until the manifest says that the blobs are needed
  for (NewLayer* each : order) {
    PUNA_TRY(FileLock lock,
             FileLock::take(layout.path(Layout::Kind::kLock, each->layer.digest), waiting));
    PUNA_TRY(put_blob(layout, *each, status, waiting));
    locks.push_back(std::move(lock));
  }
  status("writing manifest", 0, 0);
  return put_manifest(layout, model.name, write_manifest(manifest));
}

}  // namespace puna::store
