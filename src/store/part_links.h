// The parts of a split model are opened by their names, which blobs do not have: links in
// split/HEX/ give them such. HEX is of all parts, as two models may differ in one of them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "store/layout.h"
#include "store/manifest.h"

namespace puna::store {

// What the folder of these parts is called by.
Digest split_key(const std::vector<Layer>& parts);

// The link of the first part, in a folder whose links all lead to these parts: that of split_key(),
// or that of the first part's digest, as earlier versions made it. Nothing where no folder is so.
std::optional<std::string> linked_path(const Layout& layout, const std::vector<Layer>& parts);

// Makes the links where they are missing or lead elsewhere; the lock of manifests is held, so that
// nobody collects them before a manifest needs them. Errors: kIo.
base::Result<void> link_parts(const Layout& layout, const std::vector<Layer>& parts);

}  // namespace puna::store
