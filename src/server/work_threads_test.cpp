#include "server/work_threads.h"

#include <doctest/doctest.h>

#include "server/testing/client.h"

namespace puna::server {

TEST_CASE("what a work holds goes when it ends, though no other begins") {
  std::atomic<bool> gone = false;
  WorkThreads works;
  std::shared_ptr<std::atomic<bool>> cancelled(new std::atomic<bool>(false),
                                               [&gone](std::atomic<bool>* flag) {
                                                 delete flag;
                                                 gone = true;
                                               });
  REQUIRE(works.start(std::move(cancelled), [] {}));
  test::wait_until([&] { return gone.load(); });
  works.stop();
}

TEST_CASE("a stop cancels works that are under way, and begins none") {
  WorkThreads works;
  const auto cancelled = std::make_shared<std::atomic<bool>>(false);
  REQUIRE(
      works.start(cancelled, [cancelled] { test::wait_until([&] { return cancelled->load(); }); }));
  works.stop();
  CHECK(*cancelled);
  CHECK_FALSE(works.start(cancelled, [] {}));
}

}  // namespace puna::server
