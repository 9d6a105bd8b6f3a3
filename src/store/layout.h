// Where things lie below a folder of models; ollama's layout, so that either program reads what the
// other has.
//
//   MODELS/manifests/<host>/<namespace>/<model>/<tag>   JSON: config and layers by digest
//   MODELS/blobs/sha256-<hex>                           their bytes
//   MODELS/blobs/sha256-<hex>.part                      an unfinished download (pull/part_file.h)
//   MODELS/blobs/sha256-<hex>.lock                      held while the blob is made (locks.h)
//   MODELS/manifests.lock                               held while manifests change
//   MODELS/split/<hex>/model-00001-of-00003.gguf        links to the parts of a split model
//                                                       (part_links.h)
//   MODELS/version                                      of this layout; ollama has none
//
// The last four are Puna's own; a store of ollama is only read.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "store/digest.h"
#include "store/name.h"

namespace puna::store {

// One manifest file; `name` is what its path says.
struct ManifestFile {
  ModelName name;
  std::string path;
};

class Layout {
 public:
  explicit Layout(std::string models) : models_(std::move(models)) {}

  const std::string& models() const { return models_; }  // the folder of all this

  enum class Kind { kBlob, kPart, kLock, kWheelFolder, kWheelFile, kSplit };
  // The one place where a digest becomes a path.
  std::string path(Kind kind, const Digest& digest) const;
  std::string blob(const Digest& digest) const { return path(Kind::kBlob, digest); }

  std::string blobs() const { return models_ + "/blobs"; }
  std::string splits() const { return models_ + "/split"; }
  std::string manifests_root() const { return models_ + "/manifests"; }
  std::string manifests_lock() const { return models_ + "/manifests.lock"; }
  // Of the manifest: where one of that name is, in whatever case; else where it would be.
  std::string manifest(const ModelName& name) const;
  // The manifest of that name, in whatever case; its name is as it is written there.
  std::optional<ManifestFile> find(const ModelName& name) const;
  // Every manifest whose path reads as a name, by name. Other files are passed over.
  std::vector<ManifestFile> manifests() const;

  // Errors: kUnsupported for a store of a later layout than this Puna knows.
  base::Result<void> check_version() const;
  // Makes the folders and the version file of a store that is written to. Errors: kIo, and those of
  // check_version().
  base::Result<void> prepare() const;

 private:
  std::string models_;
};

// Names of what is in a folder, sorted; none where it cannot be read.
std::vector<std::string> names_in(const std::string& folder);

}  // namespace puna::store
