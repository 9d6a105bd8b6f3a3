#include <doctest/doctest.h>

#include <cmath>

#include "kernels/local_attention/local_attention.h"

namespace puna::kernels {
namespace {

// With a unit matrix the keys are the positions themselves.
TEST_CASE("the keys of distances are sines and cosines of frequencies by equal factors") {
  constexpr uint32_t kN = 6;
  std::vector<float> unit(size_t{kN} * kN, 0.0f);
  for (size_t i = 0; i < kN; ++i) unit[i * kN + i] = 1;
  const std::vector<float> keys = relative_keys({3, 10000}, kN, kN, unit.data());
  REQUIRE(keys.size() == 3 * kN);
  constexpr double kFrequencies[] = {1, 0.01, 0.0001};
  for (size_t d = 0; d < 3; ++d) {
    for (size_t i = 0; i < 3; ++i) {
      const double angle = static_cast<double>(d) * kFrequencies[i];
      CHECK(keys[d * kN + i] == doctest::Approx(std::sin(angle)));
      CHECK(keys[d * kN + 3 + i] == doctest::Approx(std::cos(angle)));
    }
  }
  // Of a matrix that is not square.
  const float sums[] = {1, 2, 3, 4, 5, 6};
  const std::vector<float> two = relative_keys({2, 10000}, 1, kN, sums);
  REQUIRE(two.size() == 2);
  CHECK(two[0] == doctest::Approx(4 + 5 + 6));
}

}  // namespace
}  // namespace puna::kernels
