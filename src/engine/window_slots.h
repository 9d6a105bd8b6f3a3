// WindowSlots: where the pages of the cache have their keys and values of layers with windows.
// These layers have fewer pages than the others, slots here: a text needs those of its last window,
// and what lies behind is kept for others as long as nobody wants the room. Most of it is of no use
// to anybody, since texts go on only where they have a whole window. So what a text has just passed
// goes first, and windows where texts began or ended go last.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "kernels/common/step.h"

namespace puna::engine {

// The first page of a text of n_tokens that the token after them sees in a window.
constexpr uint32_t first_page_seen(uint32_t n_tokens, uint32_t window) {
  return n_tokens + 1 > window ? (n_tokens + 1 - window) / kernels::kPageTokens : 0;
}

// Of layers with windows, what one text needs at once at most: its last window and a step behind
// it.
constexpr uint32_t n_window_pages_at_once(uint32_t window,
                                          uint32_t step_rows = kernels::kMaxStepTokens) {
  return static_cast<uint32_t>(kernels::pages_for(window + step_rows)) + 1;
}

class WindowSlots {
 public:
  // n_slots 0: the layers are like others, and nothing here counts anything.
  WindowSlots(uint32_t n_pages, uint32_t n_slots);

  bool apart() const { return n_slots_ > 0; }
  std::optional<uint32_t> slot(uint32_t page) const;
  // Whether a page has what its layers with windows need.
  bool has(uint32_t page) const { return !apart() || of_page_[page].has_value(); }

  // The page has a slot afterwards: a free one, or that of a page that nobody needs, first of those
  // that texts have passed, then of the others, the one that was needed longest ago. False: all are
  // needed.
  bool give(uint32_t page);
  // The slot of one page becomes that of another, which has none and the same content, with those
  // who need it and its place among those that nobody needs.
  void move(uint32_t from, uint32_t to);
  // Nobody has the page any more.
  void drop(uint32_t page);

  // One text more needs the slot of a page, which has one; or one less. The latter has passed the
  // page, or it began or ended with this window: then the slot is one of those that go last, for as
  // long as the page has it.
  enum class Why { kPassed, kGoesOn };
  void need(uint32_t page);
  void unneed(uint32_t page, Why why);

  uint32_t n_slots() const { return n_slots_; }
  uint32_t n_needed() const { return n_needed_; }
  uint32_t n_free() const { return static_cast<uint32_t>(free_.size()); }
  // Slots that go first: of pages that nobody needs, and that texts have passed.
  uint32_t n_passed() const { return n_passed_; }

 private:
  // What goes next is least: why the page was needed last, and when.
  using Order = std::pair<Why, uint64_t>;
  void add_unneeded(uint32_t page);
  void take_unneeded(uint32_t page);

  uint32_t n_slots_;
  std::vector<uint32_t> free_;
  std::vector<std::optional<uint32_t>> of_page_;
  std::vector<uint32_t> n_users_;                  // by page
  std::vector<Order> order_;                       // by page, of those with a slot
  std::set<std::pair<Order, uint32_t>> unneeded_;  // pages with a slot that nobody needs
  uint32_t n_passed_ = 0;                          // of these
  uint32_t n_needed_ = 0;
  uint64_t clock_ = 0;
};

}  // namespace puna::engine
