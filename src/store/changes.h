// What changes a store: manifests written and removed, and what nobody needs collected. Each holds
// the lock of manifests as long as what it sees must stay true.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "store/layout.h"
#include "store/locks.h"
#include "store/manifest.h"
#include "store/store.h"

namespace puna::store {

// Writes a manifest, whose blobs are there and held (locks), as the last step of a pull or create,
// and makes the links of its parts; then deletes what only the one before it needed. Errors: kIo;
// kCorrupt for what is no manifest.
base::Result<void> put_manifest(const Layout& layout, const ModelName& name, std::string_view text);

// Writes the manifest of `from` under the name `to` too. Errors: kNotFound when it is not there any
// more; those of put_manifest().
base::Result<void> copy_manifest(const Layout& layout, const ModelName& from, const ModelName& to);

// Makes the links of a split model where they are missing or lead elsewhere. Errors: kIo.
base::Result<void> mend_links(const Layout& layout, const Manifest& manifest);

// Errors: kIo.
base::Result<void> remove_manifest(const Layout& layout, const ManifestFile& file);

// Every digest that a manifest names, and by which the links of its parts are called. Errors:
// kCorrupt when one cannot be read.
base::Result<std::set<Digest>> used_digests(const Layout& layout);

// What lies in a store and belongs to no manifest.
struct Leftover {
  std::string path{};
  bool is_part = false;    // of a download
  bool is_folder = false;  // of a split model's links, or of wheels
  std::string lock{};      // to be held while it is deleted; empty for none
};
std::vector<Leftover> leftovers(const Layout& layout, const std::set<Digest>& used);
// Deletes those that are old enough and that nobody holds; returns their paths.
std::vector<std::string> delete_leftovers(const std::vector<Leftover>& found,
                                          const CollectOptions& options);

// Store::collect. Errors: kIo.
base::Result<std::vector<std::string>> collect(const Layout& layout, const CollectOptions& options);

// The lock of manifests. Errors: kIo.
base::Result<FileLock> lock_manifests(const Layout& layout);

}  // namespace puna::store
