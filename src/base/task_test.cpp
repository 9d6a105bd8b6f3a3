#include "base/task.h"

#include <doctest/doctest.h>

#include <deque>

#include "base/result.h"

using namespace puna::base;

namespace {

std::deque<std::function<void()>> g_queue;

Task<Result<int>> later(int v) {
  co_return co_await await_callback<Result<int>>([v](const std::function<void(Result<int>)>& done) {
    g_queue.emplace_back([done, v] {
      done(v < 0 ? Result<int>(fail(ErrorCode::kIo, "negative")) : Result<int>(v));
    });
  });
}

Task<Result<int>> sum(int n, int bad) {
  int s = 0;
  for (int i = 0; i < n; ++i) {
    PUNA_CO_TRY_CONTEXT(int v, co_await later(i == bad ? -1 : i), "While summing");
    s += v;
  }
  co_return s;
}

void poll() {
  auto f = std::move(g_queue.front());
  g_queue.pop_front();
  f();
}

Result<int> twice(Result<int> v) {
  PUNA_TRY(int x, std::move(v));
  PUNA_TRY(Result<void>());
  return 2 * x;
}

}  // namespace

TEST_CASE("nested tasks carry values across waits") { CHECK(*run_until(sum(5, -1), poll) == 10); }

TEST_CASE("an error ends the task and collects context") {
  auto r = run_until(sum(5, 3), poll);
  REQUIRE(!r.has_value());
  CHECK(r.error().text() == "negative - While summing");
}

TEST_CASE("a long loop over tasks that never wait takes no stack") {
  const auto at_once = [](int v) -> Task<Result<int>> { co_return v; };
  const auto loop = [&]() -> Task<Result<int>> {
    int last = 0;
    for (int i = 0; i < 1'000'000; ++i) {
      PUNA_CO_TRY(last, co_await at_once(i));
    }
    co_return last;
  };
  CHECK(*run_until(loop(), poll) == 999'999);
}

TEST_CASE("PUNA_TRY passes errors on") {
  CHECK(*twice(4) == 8);
  CHECK(twice(fail(ErrorCode::kIo, "x")).error().code == ErrorCode::kIo);
}
