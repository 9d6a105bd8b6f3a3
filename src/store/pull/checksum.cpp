#include "store/pull/checksum.h"

#include <xxhash.h>

#include "base/check.h"

namespace puna::store {

void Xxh3::Free::operator()(XXH3_state_s* state) const { XXH3_freeState(state); }

Xxh3::Xxh3() : state_(XXH3_createState()) {
  PUNA_CHECK(state_ && XXH3_128bits_reset(state_.get()) == XXH_OK);
}

void Xxh3::add(std::span<const std::byte> bytes) {
  PUNA_CHECK(XXH3_128bits_update(state_.get(), bytes.data(), bytes.size()) == XXH_OK);
}

Checksum Xxh3::value() const {
  const XXH128_hash_t hash = XXH3_128bits_digest(state_.get());
  return {.low = hash.low64, .high = hash.high64};
}

}  // namespace puna::store
