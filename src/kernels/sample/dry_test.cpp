#include "kernels/sample/dry.h"

#include <doctest/doctest.h>

#include <map>
#include <random>

#include "kernels/sample/sample_ref.h"

namespace puna::kernels {
namespace {

uint32_t below(std::mt19937& random, uint32_t end) { return static_cast<uint32_t>(random() % end); }

using Penalties = std::vector<std::pair<int32_t, float>>;

TEST_CASE("what would go on with a repetition is lowered, the more the longer it is") {
  DryParams dry{.multiplier = 0.5f, .base = 2, .allowed_length = 2, .last = 100};
  // 1 2 3 stands there twice; 4 followed, then 9.
  CHECK(dry_penalties(dry, std::vector<int32_t>{1, 2, 3, 4, 1, 2, 3}) == Penalties{{4, 1.0f}});
  CHECK(dry_penalties(dry, std::vector<int32_t>{1, 2, 3, 4, 2, 3, 9, 1, 2, 3}) ==
        Penalties{{4, 1.0f}, {9, 0.5f}});
  CHECK(dry_penalties(dry, std::vector<int32_t>{5, 4, 3, 5}).empty());  // one token is allowed
  dry.allowed_length = 1;
  CHECK(dry_penalties(dry, std::vector<int32_t>{5, 4, 3, 5}) == Penalties{{4, 0.5f}});
  dry.last = 3;  // 5 at the beginning is out of sight
  CHECK(dry_penalties(dry, std::vector<int32_t>{5, 4, 3, 5}).empty());
  CHECK(dry_penalties(dry, {}).empty());
}

TEST_CASE("a repetition does not reach over a breaker, and a breaker of one token is not lowered") {
  DryParams dry{.multiplier = 1, .base = 2, .allowed_length = 1, .last = 100};
  const std::vector<int32_t> text = {1, 2, 7, 8, 3, 4, 1, 2, 7, 8, 3};
  CHECK(dry_penalties(dry, text) == Penalties{{4, 16.0f}});
  dry.breakers = {{7, 8}};
  CHECK(dry_penalties(dry, text) == Penalties{{4, 1.0f}});  // 3 alone
  dry.breakers = {{4}};
  CHECK(dry_penalties(dry, text).empty());
  dry.breakers = {{3}};
  CHECK(dry_penalties(dry, text).empty());
}

TEST_CASE("a long repetition has a finite penalty") {
  const DryParams dry{.multiplier = 100, .base = 100, .allowed_length = 0, .last = 5000};
  const auto penalties = dry_penalties(dry, std::vector<int32_t>(5000, 3));
  REQUIRE(penalties.size() == 1);
  CHECK(penalties[0].second == static_cast<float>(kMostDry));
}

TEST_CASE("the fast search for repetitions finds what comparing all places does") {
  std::mt19937 random(5);
  for (int i = 0; i < 2000; ++i) {
    DryParams dry{.multiplier = 0.8f,
                  .base = 1.75f,
                  .allowed_length = below(random, 4),
                  .last = below(random, 80)};
    for (uint32_t n = below(random, 3); n > 0; --n) {
      dry.breakers.emplace_back();
      for (uint32_t k = 1 + below(random, 2); k > 0; --k)
        dry.breakers.back().push_back(static_cast<int32_t>(random() % 6));
    }
    std::vector<int32_t> text(below(random, 100));
    for (int32_t& id : text) id = static_cast<int32_t>(random() % (2 + i % 4));
    std::map<int32_t, float> want, got;
    for (const auto& [id, penalty] : dry_ref(dry, text)) want[id] = static_cast<float>(penalty);
    for (const auto& [id, penalty] : dry_penalties(dry, text)) got[id] = penalty;
    REQUIRE(got == want);
  }
}

}  // namespace
}  // namespace puna::kernels
