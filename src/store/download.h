// Gets a blob over HTTP, going on where an earlier download of it stopped.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "store/progress.h"

namespace puna::store {

// Makes `blob` out of what `url` gives. Unfinished bytes stay in `blob`-partial, their URL and
// entity tag in `blob`-partial-etag; bytes whose hash is wrong do not stay. Errors: those of
// io::http_get; kCorrupt when size or SHA-256 are not those expected; kIo.
base::Result<void> download(const std::string& url, const std::string& sha256, uint64_t bytes,
                            const std::string& blob, Reporter& reporter);

// Renames `file` to `blob` when its SHA-256 is `sha256`; deletes it otherwise (kCorrupt).
// Cancelling keeps it.
base::Result<void> accept_blob(const std::string& file, const std::string& sha256, uint64_t bytes,
                               const std::string& blob, Reporter& reporter);

}  // namespace puna::store
