// The model store: models by name, those that Puna keeps (layout.h) and those that other programs
// keep on this machine (places/places.h), which are read and never written. Read next: catalogue.h,
// pull/pull.cpp.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "store/catalogue.h"
#include "store/layout.h"
#include "store/manifest.h"
#include "store/name.h"
#include "store/places/places.h"

namespace puna::store {

// $PUNA_HOME, else ~/.puna. Errors: kNotFound when neither PUNA_HOME nor HOME is set.
base::Result<std::string> default_root();

// What a MODEL argument stands for.
struct Resolved {
  std::string path{};       // file or folder to open; empty when it has to be pulled first
  std::string name{};       // "model:tag"; empty for a plain path
  std::string projector{};  // what makes tokens of images, beside the model; empty for none
  const CatalogueEntry* entry = nullptr;  // set for catalogue models
  std::optional<StoredModel> stored{};    // what is kept by that name; none for a path

  bool needs_pull() const { return path.empty(); }
};

struct Progress {
  std::string_view phase;   // "downloading", "pushing", "extracting", "joining", "verifying"
  std::string_view source;  // "Hugging Face", a registry, a wheel's requirement, or ""
  Digest digest{};          // of the blob; zero where it is not known yet
  uint64_t done_bytes = 0;  // never fewer within a phase of one blob
  uint64_t total_bytes = 0;
};

struct PullOptions {
  std::function<void(const Progress&)> progress{};  // on the calling thread, several times a second
  const std::atomic<bool>* cancel = nullptr;        // set by a signal handler or another thread
  bool insecure = false;                            // plain http is allowed
  std::string as{};                                 // the name that a pulled address gets
  int backoff_ms = 500;  // before the second try; twice as long before each that follows
};

struct CollectOptions {
  int64_t min_age_s = 3600;            // younger files may be of a pull or create under way
  int64_t min_part_age_s = 7 * 86400;  // of what is left of a download, which a pull goes on with
};

// What verify() found wrong, or left over.
struct Finding {
  std::string model{};  // empty for what belongs to none
  std::string path{};
  std::string what{};      // a sentence
  std::string repaired{};  // what was done about it, a sentence; empty for nothing
  bool damage = true;      // false: only something left over
};

struct VerifyOptions {
  std::vector<std::string> names{};  // these alone; empty for all
  bool repair = false;
  CollectOptions collect{};
  PullOptions pull{};  // progress and cancel; and how what is damaged is fetched again
};

struct Verified {
  size_t n_models = 0, n_blobs = 0;
  uint64_t bytes = 0;  // that were read
  std::vector<Finding> findings{};

  bool fine() const;  // no damage, or all of it repaired
};

// Looks a MODEL argument up: an existing path, which needs no store, else the name in the default
// store. Errors: those of default_root() and of Store::resolve().
base::Result<Resolved> resolve(std::string_view name);

class Store {
 public:
  // The one of this user, with the other places of this machine. Errors: those of default_root().
  static base::Result<Store> of_environment();
  // `root` is made when something is first written. `entries` outlives the store.
  explicit Store(std::string root, std::span<const CatalogueEntry> entries = catalogue(),
                 std::vector<Place> others = {});

  // Looks `name` up: an existing path, the catalogue, the store, then the other places in their
  // order. Does not touch the network. Errors: kNotFound, naming what is near or there is; kCorrupt
  // for a damaged manifest.
  base::Result<Resolved> resolve(std::string_view name) const;

  // What is kept by that name, in Puna's store or in another place; never a path. Errors:
  // kInvalidArgument for what is no name; kNotFound, naming what is near; kCorrupt.
  base::Result<StoredModel> find(std::string_view name) const;

  // Fetches a model and returns the path of what is to be opened: a catalogue model by its name,
  // hf.co/USER/REPO:QUANT from Hugging Face, an https address of a GGUF file, else a name from its
  // registry. What is there already is read through: where its SHA-256 is wrong, a warning says so
  // and it is fetched again. May be called again after any failure: what was brought is kept. Where
  // another pull of it runs, also of another process, this one watches it. Errors: kNotFound,
  // kInvalidArgument, kCancelled, kIo (disk full, unwritable), kNetwork (no source had it; the
  // message tells why of each), kCorrupt (what came is not what was promised), kUnsupported (a
  // build without downloads).
  base::Result<std::string> pull(std::string_view name, const PullOptions& options) const;

  // Sends a stored model to the registry of its name. Errors: kNotFound, kInvalidArgument (its name
  // has no registry), kNetwork, kCancelled, kIo, kUnsupported.
  base::Result<void> push(std::string_view name, const PullOptions& options) const;

  // All models, Puna's own first, by name. A damaged manifest is left out with a warning.
  base::Result<std::vector<StoredModel>> list() const;

  // Deletes the manifest, then the blobs that no other manifest names (none of them when a manifest
  // is damaged, and none that a pull holds). Errors: kNotFound, kUnsupported for what lies in a
  // place that is only read, kIo.
  base::Result<void> remove(std::string_view name) const;

  // Gives a stored model a second name. Errors: kNotFound, kInvalidArgument, kIo.
  base::Result<void> copy(std::string_view from, std::string_view to) const;

  // Reads every blob of Puna's own store, and says what is damaged or left over. To repair is: what
  // can be fetched again is, by its digest, links to parts are made again, a damaged manifest is
  // set aside under another name, what is left over is collected. Errors: kNotFound for a name,
  // kCancelled, kIo.
  base::Result<Verified> verify(const VerifyOptions& options) const;

  // Deletes what no manifest names and no process holds; returns the paths. Nothing where a
  // manifest is damaged, since it may name anything. Errors: kIo.
  base::Result<std::vector<std::string>> collect(const CollectOptions& options) const;

  const std::string& root() const { return root_; }
  const Layout& layout() const { return layout_; }
  // The name that `text` means: that of the catalogue where it has such a model, else as
  // parse_name(). Errors: those of parse_name().
  base::Result<ModelName> named(std::string_view text) const;
  // By which named() finds `name` again: name.text(), with the namespace where without it a model
  // of the catalogue is meant.
  std::string shown_name(const ModelName& name) const;
  // As named(), for a model that is to be made. Errors: also kInvalidArgument for a name of the
  // catalogue.
  base::Result<ModelName> free_name(std::string_view text) const;

 private:
  base::Result<StoredModel> own(std::string_view text) const;
  std::optional<StoredModel> elsewhere(std::string_view text, const ModelName& wanted) const;
  std::unexpected<base::Error> only_read(const StoredModel& model, std::string_view instead) const;
  // Fetches what is damaged of a model from where its name says it comes, by digest: what another
  // model has by that name now does not come. What is mended is taken out of `damaged`. Errors:
  // those of pull().
  base::Result<void> fetch_again(const ModelName& name, std::vector<Layer>& damaged,
                                 const PullOptions& options) const;
  base::Error unknown(std::string_view name) const;
  std::string catalogue_names() const;  // for messages

  std::string root_;
  Layout layout_;
  std::span<const CatalogueEntry> entries_;
  std::vector<Place> others_;
};

}  // namespace puna::store
