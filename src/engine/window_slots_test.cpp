#include "engine/window_slots.h"

#include <doctest/doctest.h>

using puna::engine::first_page_seen;
using puna::engine::WindowSlots;
using Why = WindowSlots::Why;

TEST_CASE("the slot that was needed longest ago goes first, and one that is needed never") {
  WindowSlots slots(6, 2);
  CHECK(slots.give(0));
  CHECK(slots.give(1));
  slots.need(0);
  CHECK(slots.slot(0) == 0u);
  CHECK(slots.give(2));  // that of page 1
  CHECK_FALSE(slots.has(1));
  slots.need(2);
  CHECK(slots.n_needed() == 2);
  CHECK_FALSE(slots.give(3));
  slots.unneed(2, Why::kGoesOn);
  slots.unneed(0, Why::kGoesOn);
  CHECK(slots.give(3));
  CHECK(slots.has(0));
  CHECK_FALSE(slots.has(2));
  // A page that is free has none, and gives no way to others.
  slots.drop(0);
  CHECK(slots.n_free() == 1);
  CHECK(slots.give(4));
  CHECK(slots.has(3));
}

TEST_CASE("what texts have passed goes before windows in which texts go on, whenever that was") {
  WindowSlots slots(6, 3);
  for (const uint32_t page : {0u, 1u, 2u}) {
    CHECK(slots.give(page));
    slots.need(page);
  }
  CHECK(slots.n_passed() == 0);
  slots.unneed(0, Why::kGoesOn);
  slots.unneed(1, Why::kPassed);
  slots.unneed(2, Why::kPassed);
  CHECK(slots.n_passed() == 2);
  // A text goes on with page 1, and passes it; it is still where one did.
  slots.need(1);
  slots.unneed(1, Why::kGoesOn);
  slots.need(1);
  slots.unneed(1, Why::kPassed);
  CHECK(slots.n_passed() == 1);
  CHECK(slots.give(3));
  CHECK_FALSE(slots.has(2));
  CHECK(slots.give(4));  // page 3 was of no use to anybody yet
  CHECK_FALSE(slots.has(3));
  slots.need(4);
  CHECK(slots.give(5));
  CHECK_FALSE(slots.has(0));
  slots.need(5);
  CHECK(slots.give(3));
  CHECK_FALSE(slots.has(1));
  // With another page the slot begins anew.
  CHECK(slots.n_passed() == 1);
}

TEST_CASE("a slot moves to a page with the same content, with those who need it") {
  WindowSlots slots(4, 1);
  CHECK(slots.give(2));
  slots.need(2);
  slots.move(2, 3);
  CHECK(slots.has(3));
  CHECK_FALSE(slots.has(2));
  CHECK_FALSE(slots.give(0));
  slots.unneed(3, Why::kPassed);
  CHECK(slots.n_needed() == 0);
  CHECK(slots.n_passed() == 1);
  // So does one that nobody needs.
  slots.move(3, 1);
  CHECK(slots.slot(1) == 0u);
  CHECK(slots.n_passed() == 1);
  CHECK(slots.give(0));
  CHECK_FALSE(slots.has(1));
}

TEST_CASE("without slots every page has what it needs") {
  WindowSlots slots(4, 0);
  CHECK_FALSE(slots.apart());
  CHECK(slots.has(3));
  CHECK(slots.give(3));
  slots.need(3);
  slots.unneed(3, Why::kPassed);
  slots.drop(3);
  CHECK(slots.n_needed() == 0);
}

TEST_CASE("the next token sees the window that ends with itself") {
  CHECK(first_page_seen(0, 64) == 0);
  CHECK(first_page_seen(63, 64) == 0);    // 0 to 63
  CHECK(first_page_seen(94, 64) == 0);    // 31 to 94
  CHECK(first_page_seen(95, 64) == 1);    // 32 to 95
  CHECK(first_page_seen(1000, 1) == 31);  // itself, in the page of 992
}
