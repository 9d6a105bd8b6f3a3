#include "engine/window_slots.h"

#include <doctest/doctest.h>

using puna::engine::first_page_seen;
using puna::engine::WindowSlots;

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
  slots.unneed(2);
  slots.unneed(0);
  CHECK(slots.give(3));
  CHECK(slots.has(0));
  CHECK_FALSE(slots.has(2));
  // A page that is free has none, and gives no way to others.
  slots.drop(0);
  CHECK(slots.n_free() == 1);
  CHECK(slots.give(4));
  CHECK(slots.has(3));
}

TEST_CASE("a slot moves to a page with the same content, with those who need it") {
  WindowSlots slots(4, 1);
  CHECK(slots.give(2));
  slots.need(2);
  slots.move(2, 3);
  CHECK(slots.has(3));
  CHECK_FALSE(slots.has(2));
  CHECK_FALSE(slots.give(0));
  slots.unneed(3);
  CHECK(slots.n_needed() == 0);
  CHECK(slots.give(0));
}

TEST_CASE("without slots every page has what it needs") {
  WindowSlots slots(4, 0);
  CHECK_FALSE(slots.apart());
  CHECK(slots.has(3));
  CHECK(slots.give(3));
  slots.need(3);
  slots.unneed(3);
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
