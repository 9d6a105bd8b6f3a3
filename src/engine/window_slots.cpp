#include "engine/window_slots.h"

#include <algorithm>

#include "base/check.h"

namespace puna::engine {

WindowSlots::WindowSlots(uint32_t n_pages, uint32_t n_slots) : n_slots_(n_slots) {
  if (n_slots == 0) return;
  for (uint32_t slot = n_slots; slot > 0; --slot) free_.push_back(slot - 1);
  of_page_.resize(n_pages);
  n_users_.resize(n_pages);
  order_.resize(n_pages);
}

std::optional<uint32_t> WindowSlots::slot(uint32_t page) const {
  return apart() ? of_page_[page] : std::nullopt;
}

void WindowSlots::add_unneeded(uint32_t page) {
  unneeded_.insert({order_[page], page});
  n_passed_ += order_[page].first == Why::kPassed ? 1 : 0;
}

void WindowSlots::take_unneeded(uint32_t page) {
  unneeded_.erase({order_[page], page});
  n_passed_ -= order_[page].first == Why::kPassed ? 1 : 0;
}

bool WindowSlots::give(uint32_t page) {
  if (has(page)) return true;
  if (free_.empty()) {
    if (unneeded_.empty()) return false;
    drop(unneeded_.begin()->second);
  }
  of_page_[page] = free_.back();
  free_.pop_back();
  order_[page] = {Why::kPassed, ++clock_};
  add_unneeded(page);
  return true;
}

void WindowSlots::drop(uint32_t page) {
  if (!apart() || !of_page_[page]) return;
  PUNA_CHECK(n_users_[page] == 0);
  take_unneeded(page);
  free_.push_back(*of_page_[page]);
  of_page_[page].reset();
}

void WindowSlots::move(uint32_t from, uint32_t to) {
  PUNA_CHECK(of_page_[from] && !of_page_[to]);
  const bool unneeded = n_users_[from] == 0;
  if (unneeded) take_unneeded(from);
  of_page_[to] = std::exchange(of_page_[from], std::nullopt);
  n_users_[to] = std::exchange(n_users_[from], 0);
  order_[to] = order_[from];
  if (unneeded) add_unneeded(to);
}

void WindowSlots::need(uint32_t page) {
  if (!apart()) return;
  PUNA_CHECK(of_page_[page]);
  if (n_users_[page]++ > 0) return;
  take_unneeded(page);
  ++n_needed_;
}

void WindowSlots::unneed(uint32_t page, Why why) {
  if (!apart()) return;
  PUNA_CHECK(n_users_[page] > 0);
  order_[page] = {std::max(order_[page].first, why), ++clock_};
  if (--n_users_[page] > 0) return;
  add_unneeded(page);
  --n_needed_;
}

}  // namespace puna::engine
