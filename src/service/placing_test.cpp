#include "service/placing.h"

#include <doctest/doctest.h>

#include <numeric>

namespace puna::service {
namespace {

constexpr uint64_t kRoom = 1 << 16;

std::vector<int32_t> text(size_t n, int32_t first) {
  std::vector<int32_t> out(n);
  std::iota(out.begin(), out.end(), first);
  return out;
}

Placing::Candidate with(uint32_t n_texts, uint64_t free_tokens = kRoom) {
  return {.n_texts = n_texts, .free_tokens = free_tokens};
}

TEST_CASE("texts that nobody knows go to the host with the fewest") {
  const Placing placing(3, kRoom);
  const Placing::Candidate hosts[] = {with(2), with(1), with(1)};
  CHECK(placing.choose(text(100, 0), hosts) == 1);
  CHECK(placing.choose({}, hosts) == 1);
}

TEST_CASE("a text goes where its beginning is known, unless others wait there") {
  Placing placing(2, kRoom);
  placing.note(1, text(2000, 0));
  const std::vector<int32_t> next_turn = text(2100, 0);
  const Placing::Candidate idle[] = {with(0), with(0)}, busy[] = {with(0), with(4)},
                           full[] = {with(0), with(40)};
  CHECK(placing.choose(next_turn, idle) == 1);
  CHECK(placing.choose(next_turn, busy) == 1);
  CHECK(placing.choose(next_turn, full) == 0);
  CHECK(placing.choose(text(2100, 7), idle) == 0);  // another
  // A short beginning that all texts share does not gather them on one host.
  placing.note(1, text(64, 0));
  const Placing::Candidate one_more[] = {with(3), with(4)};
  CHECK(placing.choose(text(64, 0), one_more) == 0);
}

TEST_CASE("a host without room for a text is taken where it saves more than it lacks") {
  Placing placing(2, kRoom);
  const Placing::Candidate hosts[] = {with(0, 10), with(1)};
  CHECK(placing.choose(text(1000, 0), hosts) == 1);
  CHECK(placing.choose(text(20, 0), hosts) == 0);
  placing.note(0, text(992, 0));
  CHECK(placing.choose(text(1000, 0), hosts) == 0);
}

TEST_CASE("a host whose device is lost is given nothing while there is another") {
  Placing placing(2, kRoom);
  placing.note(0, text(1000, 0));
  Placing::Candidate hosts[] = {{.free_tokens = kRoom, .lost = true}, with(500)};
  CHECK(placing.choose(text(1000, 0), hosts) == 1);
  hosts[1].lost = true;
  CHECK(placing.choose(text(1000, 0), hosts) == 0);
}

TEST_CASE("what was of no use for long is forgotten, the ends of texts first") {
  Placing placing(2, 1024);
  const Placing::Candidate idle[] = {with(0), with(0)};
  placing.note(1, text(512, 0));
  placing.note(1, text(512, 10000));
  CHECK(placing.choose(text(512, 0), idle) == 1);
  placing.note(1, text(800, 20000));
  // Of the first nothing is left; of the second its beginning.
  CHECK(placing.choose(text(512, 0), idle) == 0);
  const Placing::Candidate busy[] = {with(1), with(1)};
  CHECK(placing.choose(text(512, 10000), busy) == 1);
  CHECK(placing.choose(text(800, 20000), busy) == 1);
}

}  // namespace
}  // namespace puna::service
