#include "kernels/sample/chosen.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace puna::kernels {

void add_logprobs(std::span<const float> logits, uint32_t n_probs, Chosen& chosen) {
  const double largest = *std::ranges::max_element(logits);
  double sum = 0;
  for (const float l : logits) sum += std::exp(l - largest);
  const double log_sum = largest + std::log(sum);
  const auto logprob = [&](int32_t id) {
    return static_cast<float>(logits[static_cast<size_t>(id)] - log_sum);
  };
  chosen.logprob = logprob(chosen.id);
  std::vector<int32_t> ids(logits.size());
  std::iota(ids.begin(), ids.end(), 0);
  const auto end = ids.begin() + static_cast<ptrdiff_t>(std::min<size_t>(n_probs, ids.size()));
  std::partial_sort(ids.begin(), end, ids.end(), [&](int32_t a, int32_t b) {
    const float la = logits[static_cast<size_t>(a)], lb = logits[static_cast<size_t>(b)];
    return la > lb || (la == lb && a < b);
  });
  for (auto id = ids.begin(); id != end; ++id) chosen.top.push_back({*id, logprob(*id)});
}

}  // namespace puna::kernels
