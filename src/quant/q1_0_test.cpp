#include "quant/q1_0.h"

#include "quant/quant_test_util.h"

using namespace puna::quant;

TEST_CASE("q1_0 decodes every element as described") {
  check_decode<BlockQ1_0>({0}, [](const BlockQ1_0& b, int e) {
    return (b.qs[e / 8] >> e % 8 & 1) == 1 ? half(b.d) : -half(b.d);
  });
}
