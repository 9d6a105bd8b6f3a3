#include "kernels/attention/relative.h"

#include <doctest/doctest.h>

#include <cstddef>
#include <numeric>

namespace puna::kernels {
namespace {

// T5's usual ones, as its makers' code has them: the first distance of each bucket.
TEST_CASE("buckets widen with the distance, and are the same either way") {
  const RelativeBuckets usual{32, 128};
  constexpr int64_t kFirst[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 23, 32, 46, 64, 91};
  uint32_t bucket = 0;
  for (int64_t distance = 0; distance < 300; ++distance) {
    CAPTURE(distance);
    if (bucket < 15 && distance == kFirst[bucket + 1]) ++bucket;
    CHECK(relative_bucket(usual, -distance) == bucket);
    if (distance > 0) CHECK(relative_bucket(usual, distance) == 16 + bucket);
  }
  // Halves of an odd number are rounded down; the reach decides where the last bucket begins.
  const RelativeBuckets odd{10, 20};
  CHECK(relative_bucket(odd, -1) == 1);
  CHECK(relative_bucket(odd, -2) == 2);
  CHECK(relative_bucket(odd, -20) == 4);
  CHECK(relative_bucket(odd, 7) == 8);
  CHECK(relative_bucket(odd, 1000000) == 9);
}

TEST_CASE("biases by distance are the table's rows of their buckets, by head") {
  const RelativeBuckets buckets{8, 6};
  std::vector<float> table(8 * 3);
  std::iota(table.begin(), table.end(), 0.0f);
  const std::vector<float> biases = relative_biases(buckets, 3, table.data());
  REQUIRE(biases.size() == 3 * 13);
  for (int64_t distance = -6; distance <= 6; ++distance) {
    for (size_t head = 0; head < 3; ++head) {
      CHECK(biases[head * 13 + static_cast<size_t>(distance + 6)] ==
            table[relative_bucket(buckets, distance) * 3 + head]);
    }
  }
}

}  // namespace
}  // namespace puna::kernels
