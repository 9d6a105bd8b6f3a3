// KvPool: the pages of the cache, one pool for all texts. A page has owners: each sequence whose
// row of the page table names it, and each node of the tree of prefixes that keeps it. Memory was
// allocated at load.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/window_slots.h"

namespace puna::engine {

class KvPool {
 public:
  // n_window_pages: of layers with windows, as CacheConfig has them.
  explicit KvPool(uint32_t n_pages, uint32_t n_window_pages = 0);

  // A free page, with one owner; none when all have one. One that was in use before comes first.
  std::optional<uint32_t> take();
  // Whether take() would give one that was in use before.
  bool has_used() const { return !free_.empty() && free_.back() < n_used_; }
  // One more owner of a page that has one.
  void share(uint32_t page);
  // One owner less; without any the page is free.
  void release(uint32_t page);

  WindowSlots& windows() { return windows_; }
  const WindowSlots& windows() const { return windows_; }
  uint32_t n_owners(uint32_t page) const { return n_owners_[page]; }
  uint32_t n_free() const { return static_cast<uint32_t>(free_.size()); }
  uint32_t n_pages() const { return static_cast<uint32_t>(n_owners_.size()); }

 private:
  std::vector<uint32_t> free_;      // used from the back; at first the lowest page is last
  std::vector<uint32_t> n_owners_;  // by page
  uint32_t n_used_ = 0;             // pages that were ever in use: the lowest
  WindowSlots windows_;
};

}  // namespace puna::engine
