#include "server/reuse_log.h"

#include <doctest/doctest.h>

#include <numeric>

using puna::server::ReuseLog;

namespace {

std::vector<int32_t> prompt(size_t n) {
  std::vector<int32_t> out(n);
  std::iota(out.begin(), out.end(), 0);
  return out;
}

}  // namespace

TEST_CASE("a prompt of which much less is known than of the one before shows where it differs") {
  ReuseLog log;
  CHECK_FALSE(log.note("a", prompt(100), 0, nullptr));
  CHECK_FALSE(log.note("a", prompt(120), 100, nullptr));
  auto changed = prompt(140);
  changed[7] = 1000;
  CHECK(log.note("a", changed, 7, nullptr) ==
        "of the 140 tokens of a prompt 7 were known, of the one before 83 %; the first that "
        "differs is token 7: \"1000 8 9 10 11 12 13 14\", before \"7 8 9 10 11 12 13 14\"");
  // Now nothing is lost any more.
  CHECK_FALSE(log.note("a", prompt(140), 7, nullptr));
}

TEST_CASE("what is new by right is not told of") {
  ReuseLog log;
  CHECK_FALSE(log.note("a", prompt(100), 90, nullptr));
  CHECK_FALSE(log.note("b", prompt(100), 0, nullptr));    // of another client
  CHECK_FALSE(log.note("a", prompt(1000), 99, nullptr));  // much was said since
  CHECK_FALSE(log.note("a", prompt(30), 0, nullptr));     // too short to matter
  CHECK_FALSE(log.note("a", prompt(80), 10, nullptr));    // the beginning of the one before
}

TEST_CASE("the clients that came longest ago are forgotten") {
  ReuseLog log;
  for (int i = 0; i < 200; ++i) {
    const std::string client = std::to_string(i);
    CHECK_FALSE(log.note(client, prompt(100), 100, nullptr));
  }
  auto changed = prompt(100);
  changed[0] = 1000;
  CHECK_FALSE(log.note("0", changed, 0, nullptr));
  CHECK(log.note("199", changed, 0, nullptr));
}
