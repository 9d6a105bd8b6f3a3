#include "engine/kv_pool.h"

#include <algorithm>

#include "base/check.h"

namespace puna::engine {

KvPool::KvPool(uint32_t n_pages, uint32_t n_window_pages)
    : n_owners_(n_pages), windows_(n_pages, n_window_pages) {
  for (uint32_t page = n_pages; page > 0; --page) free_.push_back(page - 1);
}

std::optional<uint32_t> KvPool::take() {
  if (free_.empty()) return {};
  const uint32_t page = free_.back();
  free_.pop_back();
  n_used_ = std::max(n_used_, page + 1);
  n_owners_[page] = 1;
  return page;
}

void KvPool::share(uint32_t page) {
  PUNA_CHECK(n_owners_[page] > 0);
  ++n_owners_[page];
}

void KvPool::release(uint32_t page) {
  PUNA_CHECK(n_owners_[page] > 0);
  if (--n_owners_[page] > 0) return;
  windows_.drop(page);
  free_.push_back(page);
}

}  // namespace puna::engine
