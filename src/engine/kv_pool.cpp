#include "engine/kv_pool.h"

#include <fmt/format.h>

namespace puna::engine {
namespace {

uint32_t pages_for(uint32_t n_tokens) {
  return (n_tokens + kernels::kPageTokens - 1) / kernels::kPageTokens;
}

}  // namespace

KvPool::KvPool(const plan::CacheConfig& cache)
    : pages_per_sequence_(cache.pages_per_sequence), owned_(cache.n_sequences) {
  for (uint32_t page = cache.n_pages; page > 0; --page) free_.push_back(page - 1);
}

base::Result<bool> KvPool::grow(uint32_t sequence, uint32_t n_tokens) {
  std::vector<uint32_t>& mine = owned_[sequence];
  const uint32_t wanted = pages_for(n_tokens);
  if (wanted > pages_per_sequence_) {
    return base::fail(base::ErrorCode::kInvalidArgument,
                      fmt::format("The sequence needs {} tokens, but the context holds {}.",
                                  n_tokens, pages_per_sequence_ * kernels::kPageTokens));
  }
  if (wanted <= mine.size()) return false;
  if (wanted - mine.size() > free_.size()) {
    return base::fail(
        base::ErrorCode::kOutOfMemory,
        fmt::format("The KV cache is full: {} more pages of {} tokens are needed, {} are free.",
                    wanted - mine.size(), kernels::kPageTokens, free_.size()));
  }
  while (mine.size() < wanted) {
    mine.push_back(free_.back());
    free_.pop_back();
  }
  return true;
}

void KvPool::shrink(uint32_t sequence, uint32_t n_tokens) {
  std::vector<uint32_t>& mine = owned_[sequence];
  while (mine.size() > pages_for(n_tokens)) {
    free_.push_back(mine.back());
    mine.pop_back();
  }
}

}  // namespace puna::engine
