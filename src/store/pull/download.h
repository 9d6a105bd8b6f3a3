// Gets one file over HTTP in up to eight parts at once, going on where an earlier download of it
// stopped. Read next: part_file.h, hasher.h.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "io/http/http_client.h"
#include "store/progress.h"
#include "store/pull/hasher.h"
#include "store/pull/retry.h"

namespace puna::store {

struct BlobSource {
  std::string url{};
  std::string label{};             // for the progress: "Hugging Face", a host
  std::optional<Digest> digest{};  // none: what comes is believed
  uint64_t bytes = 0;
  // The entity tag that the file has now (probe()). Without a digest, what an earlier download left
  // counts only where it has the same one.
  std::string etag{};
  // With digests, where the server tells them, which are looked at when the whole is wrong; in
  // order and without gaps. Empty: pieces of 4 MiB.
  std::vector<Chunk> chunks{};
  std::string authorization{};
  // Another value of that header, once the server refused (401, 403). Null: none.
  std::function<base::Result<std::string>(const io::HttpHead& refused)> authorize{};
  int max_tries = kMaxTries;  // without one byte between them
};

// Brings all that the source has into the file `part`, for PartFile::place(), and returns its
// SHA-256; where it is there already, nothing is asked for. What comes counts only in an answer of
// 206 with the range asked for and the entity tag of the others, or in one of 200 from a server
// that knows no ranges. Where the digest of the whole is wrong, the chunks whose own is wrong are
// fetched again; where none is known to be, each is, and compared, until the whole is right. On
// failure `part` keeps what has come, with its checksums; a whole whose digest is
// wrong does not stay. Errors: kNotFound, kNetwork, kCorrupt (size, digest, or a file that changes
// on the server), kInvalidArgument (the URL), kCancelled, kIo.
base::Result<Digest> download(BlobSource source, const std::string& part, Reporter& reporter);

// Size and entity tag of what a URL names. Errors: as download(); kUnsupported when the server does
// not tell the size.
base::Result<io::HttpHead> probe(const std::string& url, const std::string& authorization,
                                 const Reporter& reporter);

}  // namespace puna::store
