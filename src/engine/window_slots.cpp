#include "engine/window_slots.h"

#include "base/check.h"

namespace puna::engine {

WindowSlots::WindowSlots(uint32_t n_pages, uint32_t n_slots) : n_slots_(n_slots) {
  if (n_slots == 0) return;
  for (uint32_t slot = n_slots; slot > 0; --slot) free_.push_back(slot - 1);
  of_page_.resize(n_pages);
  n_users_.resize(n_pages);
  used_.resize(n_pages);
}

std::optional<uint32_t> WindowSlots::slot(uint32_t page) const {
  return apart() ? of_page_[page] : std::nullopt;
}

bool WindowSlots::give(uint32_t page) {
  if (has(page)) return true;
  if (free_.empty()) {
    if (unneeded_.empty()) return false;
    drop(unneeded_.begin()->second);
  }
  of_page_[page] = free_.back();
  free_.pop_back();
  used_[page] = ++clock_;
  unneeded_.insert({used_[page], page});
  return true;
}

void WindowSlots::drop(uint32_t page) {
  if (!apart() || !of_page_[page]) return;
  PUNA_CHECK(n_users_[page] == 0);
  unneeded_.erase({used_[page], page});
  free_.push_back(*of_page_[page]);
  of_page_[page].reset();
}

void WindowSlots::move(uint32_t from, uint32_t to) {
  PUNA_CHECK(of_page_[from] && !of_page_[to] && n_users_[from] > 0);
  of_page_[to] = std::exchange(of_page_[from], std::nullopt);
  n_users_[to] = std::exchange(n_users_[from], 0);
}

void WindowSlots::need(uint32_t page) {
  if (!apart()) return;
  PUNA_CHECK(of_page_[page]);
  if (n_users_[page]++ > 0) return;
  unneeded_.erase({used_[page], page});
  ++n_needed_;
}

void WindowSlots::unneed(uint32_t page) {
  if (!apart()) return;
  PUNA_CHECK(n_users_[page] > 0);
  if (--n_users_[page] > 0) return;
  used_[page] = ++clock_;
  unneeded_.insert({used_[page], page});
  --n_needed_;
}

}  // namespace puna::engine
