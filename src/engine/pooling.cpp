#include "engine/pooling.h"

#include <algorithm>
#include <cmath>

namespace puna::engine {
namespace {

std::vector<float> mean(const std::vector<float>& rows, uint32_t width) {
  std::vector<double> sums(width, 0.0);
  for (size_t i = 0; i < rows.size(); ++i) sums[i % width] += double{rows[i]};
  const double n = static_cast<double>(rows.size()) / width;
  std::vector<float> out(width);
  for (uint32_t d = 0; d < width; ++d) out[d] = static_cast<float>(sums[d] / n);
  return out;
}

std::vector<float> softmax(std::vector<float> scores) {
  const float largest = *std::ranges::max_element(scores);
  double sum = 0;
  for (float& s : scores) sum += double{s = std::exp(s - largest)};
  for (float& s : scores) s = static_cast<float>(double{s} / sum);
  return scores;
}

}  // namespace

Span rows_of(models::Pooling pooling, bool causal, uint32_t n_tokens) {
  using models::Pooling;
  const bool last = pooling == Pooling::kLast || (pooling == Pooling::kRank && causal);
  if (last) return {n_tokens - 1, n_tokens};
  if (pooling == Pooling::kCls || pooling == Pooling::kRank) return {0, 1};
  return {0, n_tokens};
}

std::vector<float> pooled(models::Pooling pooling, std::vector<float> rows, uint32_t width) {
  if (pooling == models::Pooling::kMean) return mean(rows, width);
  if (pooling == models::Pooling::kRank && width > 1) return softmax(std::move(rows));
  return rows;
}

}  // namespace puna::engine
