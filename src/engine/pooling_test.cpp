#include "engine/pooling.h"

#include <doctest/doctest.h>

using namespace puna;
using engine::pooled;
using engine::rows_of;
using models::Pooling;

TEST_CASE("each pooling takes its rows of a text") {
  const auto check = [](Pooling pooling, bool causal, uint32_t begin, uint32_t end) {
    const engine::Span rows = rows_of(pooling, causal, 7);
    CHECK(rows.begin == begin);
    CHECK(rows.end == end);
  };
  check(Pooling::kNone, true, 0, 7);
  check(Pooling::kMean, false, 0, 7);
  check(Pooling::kCls, false, 0, 1);
  check(Pooling::kLast, true, 6, 7);
  check(Pooling::kRank, true, 6, 7);
  check(Pooling::kRank, false, 0, 1);
}

TEST_CASE("rows become their mean, themselves, or probabilities") {
  const std::vector<float> rows = {1, 2, 3, 5, 6, 7};
  CHECK(pooled(Pooling::kMean, rows, 3) == std::vector<float>{3, 4, 5});
  CHECK(pooled(Pooling::kNone, rows, 3) == rows);
  CHECK(pooled(Pooling::kLast, {5, 6, 7}, 3) == std::vector<float>{5, 6, 7});
  CHECK(pooled(Pooling::kRank, {4.5f}, 1) == std::vector<float>{4.5f});
  const std::vector<float> shares = pooled(Pooling::kRank, {1000.0f, 1000.0f}, 2);
  CHECK(shares == std::vector<float>{0.5f, 0.5f});
}
