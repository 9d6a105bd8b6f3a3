#include "base/later.h"

#include <doctest/doctest.h>

#include "base/task.h"

using namespace puna;
using base::Later;
using base::Task;

namespace {

Task<int> take(Later<int>& later) { co_return co_await later; }

}  // namespace

TEST_CASE("what was brought before it is awaited is there at once") {
  Later<int> later;
  const auto bring = later.callback();
  CHECK_FALSE(later.await_ready());
  bring(3);
  CHECK(later.await_ready());
  Task<int> task = take(later);
  task.start();
  REQUIRE(task.done());
  CHECK(task.take() == 3);
}

TEST_CASE("what is awaited goes on when it is brought, and may be asked for again") {
  Later<int> later;
  for (int i = 0; i < 2; ++i) {
    const auto bring = later.callback();
    Task<int> task = take(later);
    task.start();
    CHECK_FALSE(task.done());
    bring(i);
    REQUIRE(task.done());
    CHECK(task.take() == i);
  }
}
