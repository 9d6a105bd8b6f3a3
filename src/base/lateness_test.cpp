#include "base/lateness.h"

#include <doctest/doctest.h>

namespace puna::base {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Lateness::Duration kNoRest{};

Lateness::Clock::time_point at(Lateness::Duration time) {
  return Lateness::Clock::time_point(time);
}

TEST_CASE("a worker that does far more than it keeps others waiting is not left out") {
  Lateness worker;
  Lateness::Duration now = seconds(5);
  for (int i = 0; i < 1000; ++i) {  // moments taken by other threads, one every 12 ms
    worker.worked(milliseconds(10));
    now += milliseconds(12);
    REQUIRE(worker.waited(milliseconds(2), milliseconds(2), at(now)) == kNoRest);
  }
}

TEST_CASE("a worker that has done nothing yet rests for eight times its first wait") {
  Lateness worker;
  CHECK(worker.waited(milliseconds(3), milliseconds(3), at(seconds(1))) == milliseconds(24));
  CHECK(worker.rests_until() == at(seconds(1) + milliseconds(24)));
}

TEST_CASE("a worker that works about as long as it keeps others waiting is left out") {
  Lateness worker;
  worker.worked(milliseconds(3));
  CHECK(worker.waited(milliseconds(3), milliseconds(3), at(seconds(1))) == milliseconds(24));
}

TEST_CASE("waits count by what all lose who wait") {
  Lateness one, many;
  one.worked(milliseconds(10));
  many.worked(milliseconds(10));
  CHECK(one.waited(milliseconds(2), milliseconds(2), at(seconds(1))) == kNoRest);
  CHECK(many.waited(milliseconds(2), 7 * milliseconds(2), at(seconds(1))) == milliseconds(16));
}

TEST_CASE("rests that follow each other double up to a second, and are short again later") {
  Lateness worker;
  Lateness::Duration now = seconds(1);
  Lateness::Duration expected = milliseconds(16);
  for (int i = 0; i < 10; ++i) {
    const Lateness::Duration rest = worker.waited(milliseconds(2), milliseconds(2), at(now));
    CHECK(rest == expected);
    expected = std::min<Lateness::Duration>(2 * expected, seconds(1));
    now += rest + milliseconds(3);
  }
  now += seconds(2);
  CHECK(worker.waited(milliseconds(2), milliseconds(2), at(now)) == milliseconds(16));
}

TEST_CASE("a wait that is longer than the longest rest is followed by a rest of its length") {
  Lateness worker;
  CHECK(worker.waited(seconds(7), seconds(7), at(seconds(9))) == seconds(7));
}

TEST_CASE("what was long ago does not count: neither work nor waits") {
  Lateness worker;
  worker.worked(seconds(3600));
  Lateness::Duration now = seconds(1), rest = kNoRest, lost = kNoRest;
  while (rest == kNoRest) {  // its core is shared now, and it does less than it costs
    worker.worked(milliseconds(2));
    now += milliseconds(6);
    lost += milliseconds(4);
    REQUIRE(lost < seconds(1));
    rest = worker.waited(milliseconds(4), milliseconds(4), at(now));
  }
  CHECK(lost > milliseconds(20));
  now += rest;
  CHECK(worker.waited(milliseconds(4), milliseconds(4), at(now)) > kNoRest);  // still known for it

  worker.worked(seconds(1));  // the core is its own again
  CHECK(worker.waited(microseconds(500), microseconds(500), at(now + seconds(3))) == kNoRest);
}

}  // namespace
}  // namespace puna::base
