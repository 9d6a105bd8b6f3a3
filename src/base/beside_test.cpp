#include "base/beside.h"

#include <doctest/doctest.h>

#include <optional>

namespace puna::base {
namespace {

TEST_CASE("work beside is done once, and its results are there after waiting") {
  int n = 0;
  Beside work([&] { ++n; });
  work.wait();
  CHECK(n == 1);
  work.wait();
  CHECK(n == 1);
}

TEST_CASE("work that nobody waits for is done before its end") {
  int n = 0;
  {
    const Beside work([&] { n = 7; });
  }
  CHECK(n == 7);
}

}  // namespace
}  // namespace puna::base
