// Carries out a pull: which blobs are missing, that there is room for them, one lock each, and the
// manifest last. Where each blob comes from is the plan's.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "store/layout.h"
#include "store/manifest.h"
#include "store/progress.h"
#include "store/pull/download.h"

namespace puna::store {

struct WantedBlob {
  Layer layer{};
  // Where all of it lies already, as download() leaves it; fetch() then only gives it its place.
  std::string part{};
  // Makes the file blob(layer.digest), whose lock is held.
  std::function<base::Result<void>(const Layout& layout, const Layer& layer, Reporter& reporter)>
      fetch{};
};

struct PullPlan {
  ModelName name{};
  std::string manifest{};           // verbatim
  std::vector<WantedBlob> blobs{};  // all that it names
};

// Returns the path of what is to be opened. Errors: those of the fetches, kIo, kCancelled.
base::Result<std::string> carry_out(const Layout& layout, const PullPlan& plan, Reporter& reporter);

// Fetches those of the damaged blobs that the plan has the very bytes of, and takes them out of
// `damaged`; manifests stay as they are. Errors: those of the fetches, kIo, kCancelled.
base::Result<void> mend(const Layout& layout, const PullPlan& plan, std::vector<Layer>& damaged,
                        Reporter& reporter);

WantedBlob wanted_text(std::string_view media_type, std::string text);
WantedBlob wanted_download(std::string_view media_type, BlobSource source);

// Downloads a blob. Errors: those of download().
base::Result<void> fetch_blob(const Layout& layout, const Layer& layer, BlobSource source,
                              Reporter& reporter);

// A plan of the layers and a config of these fields; the manifest is written of them.
PullPlan plan_of(ModelName name, const ConfigFields& fields, std::vector<WantedBlob> layers);

// Renames `file` to the blob of `layer` when its SHA-256 is that; deletes it otherwise (kCorrupt).
// Cancelling keeps it.
base::Result<void> accept_blob(const std::string& file, const Layer& layer, const std::string& blob,
                               Reporter& reporter);

}  // namespace puna::store
