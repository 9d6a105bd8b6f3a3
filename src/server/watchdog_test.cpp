#include "server/watchdog.h"

#include <doctest/doctest.h>

using puna::engine::StepWatch;
using puna::server::OverdueSteps;

namespace {

StepWatch::Look step(uint64_t number, double ms, double expected_ms) {
  return {.n_steps = number, .n_texts = 0, .ms = ms, .expected_ms = expected_ms};
}

}  // namespace

TEST_CASE("of a step that takes ten times what it should it is said so, once") {
  OverdueSteps overdue;
  CHECK_FALSE(overdue.look("a", step(0, 1e6, 0)));     // nothing is known of steps yet
  CHECK_FALSE(overdue.look("a", step(0, 900, 10)));    // too short to bother anybody
  CHECK_FALSE(overdue.look("a", step(0, 4000, 500)));  // less than ten times
  CHECK(overdue.look("a", step(0, 5100, 500)) ==
        "a: a step has taken 5.1 s so far, and should have taken 0.500 s");
  CHECK_FALSE(overdue.look("a", step(0, 9000, 500)));
  CHECK(overdue.look("b", step(0, 9000, 500)));
  CHECK_FALSE(overdue.look("a", step(1, 0, 0)));  // it has ended
  CHECK(overdue.look("a", step(7, 9000, 500)));
}

TEST_CASE("a watch shows the step under way, and counts those that have ended") {
  StepWatch watch;
  CHECK(watch.look().ms == 0);
  watch.begin(7);
  CHECK(watch.look().ms > 0);
  CHECK(watch.look().expected_ms == 7);
  watch.end(3, 12);
  CHECK(watch.look().ms == 0);
  CHECK(watch.look().n_steps == 3);
  CHECK(watch.look().n_texts == 12);
}
