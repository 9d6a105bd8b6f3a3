// Store::verify: what is damaged, what is left over, and what is done about it.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <set>

#include "store/changes.h"
#include "store/files.h"
#include "store/manifest.h"
#include "store/part_links.h"
#include "store/progress.h"
#include "store/sha256.h"
#include "store/store.h"

namespace puna::store {
namespace {

namespace fs = std::filesystem;
using base::ErrorCode;
using base::Result;

// Damaged manifests are renamed so: they keep what they say, and stand for no model.
constexpr std::string_view kSetAsidePrefix = ".damaged-";

// What is wrong with a blob; empty when nothing is. Errors: kCancelled.
Result<std::string> damage_of(const std::string& path, const Layer& layer, Verified& verified,
                              Reporter& reporter) {
  const int64_t bytes = file_bytes(path);
  if (bytes < 0) return "A blob is missing.";
  if (static_cast<uint64_t>(bytes) != layer.bytes) {
    return fmt::format("A blob has {} bytes, but the manifest says {}.", bytes, layer.bytes);
  }
  reporter.phase("verifying", "", layer.digest, layer.bytes);
  const auto digest = sha256_of_file(path, [&](uint64_t done) { return reporter.at(done); });
  if (!digest && digest.error().code == ErrorCode::kCancelled)
    return std::unexpected(digest.error());
  if (!digest) return fmt::format("A blob cannot be read: {}", digest.error().text());
  ++verified.n_blobs;
  verified.bytes += layer.bytes;
  if (*digest != layer.digest) return fmt::format("The SHA-256 of a blob is {}.", digest->hex());
  return "";
}

// A model some of whose blobs are damaged, each with the place of its finding.
struct Damaged {
  struct Blob {
    Layer layer;
    size_t finding = 0;
  };
  ModelName name{};
  std::vector<Blob> blobs{};
  std::string why{};  // it cannot be mended
};

// Has `fetch` (Store::fetch_again) mend what it can, and says of each finding what became of it.
// Errors: kCancelled.
Result<void> repair(std::vector<Damaged>& models,
                    const std::function<Result<void>(const ModelName&, std::vector<Layer>&)>& fetch,
                    Verified& verified) {
  std::set<Digest> mended;  // also for other models that need it
  for (Damaged& model : models) {
    std::vector<Layer> wanted;
    for (const Damaged::Blob& blob : model.blobs) {
      if (!mended.contains(blob.layer.digest)) wanted.push_back(blob.layer);
    }
    if (wanted.empty()) continue;
    std::vector<Layer> left = wanted;
    const Result<void> fetched = fetch(model.name, left);
    if (!fetched && fetched.error().code == ErrorCode::kCancelled)
      return std::unexpected(fetched.error());
    for (const Layer& layer : wanted) {
      if (std::ranges::find(left, layer.digest, &Layer::digest) == left.end())
        mended.insert(layer.digest);
    }
    model.why = fmt::format(
        " It cannot be fetched again: {}",
        fetched ? "what there is by that name has no such file." : fetched.error().text());
    if (!fetched && fetched.error().code == ErrorCode::kNetwork) continue;
    model.why +=
        fmt::format(" Make the model again, or pull what it came from; `puna rm {}` deletes it.",
                    model.name.text());
  }
  for (const Damaged& model : models) {
    for (const Damaged::Blob& blob : model.blobs) {
      Finding& finding = verified.findings[blob.finding];
      if (mended.contains(blob.layer.digest)) {
        finding.repaired = "It is fetched again.";
      } else {
        finding.what += model.why;
      }
    }
  }
  return {};
}

Result<std::string> set_aside(const Layout& layout, const std::string& path) {
  PUNA_TRY(const FileLock lock, lock_manifests(layout));
  const fs::path file(path);
  std::string aside =
      (file.parent_path() / (std::string(kSetAsidePrefix) + file.filename().string())).string();
  PUNA_TRY(rename_file(path, aside));
  return aside;
}

}  // namespace

bool Verified::fine() const {
  return std::ranges::all_of(
      findings, [](const Finding& each) { return !each.damage || !each.repaired.empty(); });
}

Result<Verified> Store::verify(const VerifyOptions& options) const {
  PUNA_TRY(layout_.check_version());
  std::vector<ManifestFile> files = layout_.manifests();
  if (!options.names.empty()) {
    std::vector<ManifestFile> wanted;
    for (const std::string& text : options.names) {
      PUNA_TRY(const ModelName name, named(text));
      const auto file = std::ranges::find(files, name, &ManifestFile::name);
      if (file == files.end()) return std::unexpected(unknown(text));
      wanted.push_back(*file);
    }
    files = std::move(wanted);
  }
  Verified verified;
  Reporter reporter(options.pull, "the store");
  std::map<Digest, std::string> seen;  // what is wrong with each blob
  std::vector<Damaged> damaged;
  for (const ManifestFile& file : files) {
    ++verified.n_models;
    const std::string shown = file.name.text();
    const Result<Manifest> manifest = load_manifest(file.path);
    if (!manifest) {
      Finding finding{.model = shown, .path = file.path, .what = manifest.error().message};
      if (options.repair) {
        PUNA_TRY(const std::string aside, set_aside(layout_, file.path));
        finding.repaired = fmt::format(
            "It is set aside as {}; `puna pull {}` fetches the model again.", aside, shown);
      }
      verified.findings.push_back(std::move(finding));
      continue;
    }
    Damaged model{.name = file.name, .blobs = {}};
    for (const Layer& layer : manifest->blobs()) {
      const std::string path = layout_.blob(layer.digest);
      if (!seen.contains(layer.digest)) {
        PUNA_TRY(seen[layer.digest], damage_of(path, layer, verified, reporter));
      }
      const std::string& what = seen[layer.digest];
      if (what.empty()) continue;
      model.blobs.push_back({.layer = layer, .finding = verified.findings.size()});
      verified.findings.push_back({.model = shown, .path = path, .what = what});
    }
    if (!model.blobs.empty()) damaged.push_back(std::move(model));
    const std::vector<Layer> parts = manifest->all(kModelType);
    if (parts.size() < 2 || linked_path(layout_, parts)) continue;
    Finding finding{.model = shown,
                    .path = layout_.path(Layout::Kind::kSplit, split_key(parts)),
                    .what = "The links to its parts are missing or lead elsewhere."};
    if (options.repair) {
      PUNA_TRY(mend_links(layout_, *manifest));
      finding.repaired = "They are made again.";
    }
    verified.findings.push_back(std::move(finding));
  }
  if (options.repair) {
    const auto fetch = [&](const ModelName& name, std::vector<Layer>& layers) {
      return fetch_again(name, layers, options.pull);
    };
    PUNA_TRY(repair(damaged, fetch, verified));
  }
  if (!options.names.empty()) return verified;
  const auto used = used_digests(layout_);
  if (!used) return verified;  // told above
  const std::vector<Leftover> left = leftovers(layout_, *used);
  std::vector<std::string> deleted;
  if (options.repair) {
    PUNA_TRY(deleted, collect(options.collect));
  }
  for (const Leftover& each : left) {
    const bool gone = std::ranges::find(deleted, each.path) != deleted.end();
    verified.findings.push_back(
        {.model = "",
         .path = each.path,
         .what = each.is_part ? "A download is not complete." : "It belongs to no model.",
         .repaired = gone ? "It is deleted." : "",
         .damage = false});
  }
  return verified;
}

}  // namespace puna::store
