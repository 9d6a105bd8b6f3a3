#include "engine/snapshots.h"

#include <doctest/doctest.h>

#include <set>

using puna::engine::Snapshots;

TEST_CASE("a rewind finds the newest snapshot that still holds, and forgets those beyond") {
  Snapshots snapshots(2, 3);
  CHECK(!snapshots.rewind(0, 100));
  const uint32_t a = snapshots.add(0, 10), b = snapshots.add(0, 50);
  CHECK(a != b);
  CHECK(!snapshots.rewind(1, 100));
  CHECK(snapshots.rewind(0, 60)->slot == b);
  CHECK(snapshots.rewind(0, 50)->position == 50);
  CHECK(snapshots.rewind(0, 49)->slot == a);
  CHECK(snapshots.rewind(0, 60)->slot == a);  // what came after 49 is another text now
  CHECK(!snapshots.rewind(0, 9));
}

TEST_CASE("when slots run out the closest copy goes, and sequences keep to their own") {
  Snapshots snapshots(2, 3);
  std::set<uint32_t> slots;
  for (const uint32_t position : {500u, 512u, 1024u}) slots.insert(snapshots.add(0, position));
  CHECK(slots.size() == 3);
  CHECK(slots.contains(snapshots.add(0, 1500)));  // 512 went
  CHECK(snapshots.rewind(0, 1023)->position == 500);
  CHECK(!slots.contains(snapshots.add(1, 7)));
  // Adding for long keeps the newest and an early one.
  for (uint32_t position = 1000; position < 20000; position += 100) snapshots.add(0, position);
  CHECK(snapshots.rewind(0, 19900)->position == 19900);
  CHECK(snapshots.rewind(0, 19000)->position <= 19000);
}

TEST_CASE("a snapshot at the position of the newest takes its place") {
  Snapshots snapshots(1, 2);
  const uint32_t slot = snapshots.add(0, 5);
  CHECK(snapshots.add(0, 5) == slot);
}
