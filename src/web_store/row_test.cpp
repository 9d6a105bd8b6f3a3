#include "web_store/row.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

namespace puna::web_store {
namespace {

using api::WebChange;
using base::Json;

constexpr int64_t kNow = 1'000'000;

Json json(const char* text) { return *Json::parse(text); }

WebChange whole(int64_t time, const char* value) {
  return {.time_ms = time, .whole = true, .value = json(value)};
}
WebChange part(int64_t time, const char* value) { return {.time_ms = time, .value = json(value)}; }
WebChange removal(int64_t time) { return {.time_ms = time, .removed = true}; }

Row row_of(const std::vector<WebChange>& changes) {
  Row out;
  for (const WebChange& each : changes) merge(out, each, kNow);
  return out;
}

TEST_CASE("the later value of a member holds, each for itself") {
  const Row row =
      row_of({whole(10, R"({"name": "a", "pinned": false})"), part(30, R"({"name": "c"})"),
              part(20, R"({"name": "b", "pinned": true})")});
  CHECK(row.value == json(R"({"name": "c", "pinned": true})"));
  CHECK(row.times == json(R"({"name": 30, "pinned": 20})"));
}

TEST_CASE("of equal times the last to come holds, and times to come are now") {
  Row row = row_of({whole(10, R"({"name": "a"})"), part(10, R"({"name": "b"})")});
  CHECK(row.value == json(R"({"name": "b"})"));
  merge(row, part(kNow + 5000, R"({"name": "ahead"})"), kNow);
  merge(row, part(kNow + 1, R"({"name": "later"})"), kNow + 1);
  CHECK(row.value == json(R"({"name": "later"})"));
}

TEST_CASE("a member that is gone stays so against earlier values") {
  WebChange gone{.time_ms = 20, .without = {"error"}};
  const Row row =
      row_of({whole(10, R"({"a": 1, "error": "x"})"), gone, part(15, R"({"error": "y"})")});
  CHECK(row.value == json(R"({"a": 1})"));
  CHECK(row.times == json(R"({"a": 10, "error": 20})"));
}

TEST_CASE("a removal holds against all but a later whole value") {
  Row row = row_of({whole(10, R"({"a": 1})"), removal(20), part(30, R"({"a": 2})")});
  CHECK(row.is_removed());
  CHECK(row.value == Json::object());
  CHECK(row.times == Json::object());
  merge(row, whole(20, R"({"a": 3})"), kNow);
  CHECK(row.is_removed());
  merge(row, whole(21, R"({"a": 4})"), kNow);
  CHECK(!row.is_removed());
  CHECK(row.value == json(R"({"a": 4})"));
  // One that comes late is of before.
  merge(row, removal(15), kNow);
  CHECK(!row.is_removed());
}

TEST_CASE("members of a row that nobody has told all of are no row yet") {
  CHECK(!row_of({part(10, R"({"a": 1})")}).is_known());
  CHECK(row_of({part(10, R"({"a": 1})"), whole(5, R"({"a": 0, "b": 0})")}).value ==
        json(R"({"a": 1, "b": 0})"));
}

// A change at each time from 1 on; with removals or without.
std::vector<WebChange> random_changes(std::mt19937& random, bool removals) {
  std::vector<WebChange> out;
  for (int64_t time = 1; time <= 6; ++time) {
    switch (random() % (removals ? 4 : 3)) {
      case 0:
        out.push_back(whole(time, "{}"));
        out.back().value.set("a", time).set("b", time);
        break;
      case 1:
        out.push_back(part(time, "{}"));
        out.back().value.set("a", time);
        break;
      case 2:
        out.push_back({.time_ms = time, .without = {"b"}});
        break;
      default:
        out.push_back(removal(time));
    }
  }
  return out;
}

TEST_CASE("in whatever order changes arrive, the row has the same members") {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    std::vector<WebChange> changes = random_changes(random, /*removals=*/false);
    const Row first = row_of(changes);
    std::ranges::shuffle(changes, random);
    const Row other = row_of(changes);
    CHECK(first.is_known() == other.is_known());
    for (const char* member : {"a", "b"}) {
      const Json *one = first.value.find(member), *two = other.value.find(member);
      REQUIRE((one == nullptr) == (two == nullptr));
      if (one) CHECK(*one == *two);
    }
  }
}

TEST_CASE("in whatever order changes arrive, the row is removed or is not") {
  std::mt19937 random(8);
  for (int round = 0; round < 300; ++round) {
    std::vector<WebChange> changes = random_changes(random, /*removals=*/true);
    const Row first = row_of(changes);
    std::ranges::shuffle(changes, random);
    const Row other = row_of(changes);
    CHECK(first.is_removed() == other.is_removed());
    CHECK(first.is_known() == other.is_known());
  }
}

}  // namespace
}  // namespace puna::web_store
