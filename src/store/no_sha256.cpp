// A build without OpenSSL knows no digests: the list shows none, and nothing can be pulled.
#include "store/sha256.h"

namespace puna::store {

std::string sha256_hex(std::string_view) { return {}; }

base::Result<std::string> sha256_of_file(
    const std::string& path, const std::function<base::Result<void>(uint64_t done_bytes)>&) {
  return base::fail(base::ErrorCode::kUnsupported,
                    "This build cannot check the SHA-256 of " + path + ".");
}

}  // namespace puna::store
