// KvPool: which pages of the cache belong to which sequence. Pages are handed out as a sequence
// grows; memory was allocated at load.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "plan/step.h"

namespace puna::engine {

class KvPool {
 public:
  explicit KvPool(const plan::CacheConfig& cache);

  // Makes room for n_tokens positions; true when the sequence got new pages. Errors:
  // kInvalidArgument above the context of a sequence, kOutOfMemory when the pool is empty; the
  // sequence keeps what it has.
  base::Result<bool> grow(uint32_t sequence, uint32_t n_tokens);
  // Gives back the pages beyond n_tokens.
  void shrink(uint32_t sequence, uint32_t n_tokens);

  std::span<const uint32_t> pages(uint32_t sequence) const { return owned_[sequence]; }
  uint32_t n_free() const { return static_cast<uint32_t>(free_.size()); }

 private:
  uint32_t pages_per_sequence_;
  std::vector<uint32_t> free_;  // used from the back; lowest page last
  std::vector<std::vector<uint32_t>> owned_;
};

}  // namespace puna::engine
