// What is the same whatever computes SHA-256.
#include "store/files.h"
#include "store/sha256.h"

namespace puna::store {

Digest sha256_of(std::string_view text) {
  Sha256 hash;
  hash.add(std::as_bytes(std::span(text)));
  return hash.finish();
}

base::Result<Digest> sha256_of_file(
    const std::string& path, const std::function<base::Result<void>(uint64_t done_bytes)>& each) {
  Sha256 hash;
  uint64_t done_bytes = 0;
  PUNA_TRY(read_pieces(path, [&](std::span<const std::byte> piece) {
    hash.add(piece);
    done_bytes += piece.size();
    return each(done_bytes);
  }));
  return hash.finish();
}

}  // namespace puna::store
