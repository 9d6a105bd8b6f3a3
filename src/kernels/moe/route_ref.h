// The plain form of route.h, in f64: sorts all experts of a row.
#pragma once

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "kernels/moe/route.h"

namespace puna::kernels {

inline std::vector<double> softmax_ref(std::vector<double> v) {
  const double largest = *std::max_element(v.begin(), v.end());
  double sum = 0;
  for (double& x : v) sum += x = std::exp(x - largest);
  for (double& x : v) x /= sum;
  return v;
}

// Takes the experts of all but the best groups out of the choice.
inline void keep_best_groups_ref(const RouteParams& params, std::vector<double>& choice) {
  const uint32_t size = params.n_experts / params.n_groups;
  std::vector<double> worth;
  for (uint32_t g = 0; g < params.n_groups; ++g) {
    std::vector<double> group(choice.begin() + g * size, choice.begin() + (g + 1) * size);
    std::sort(group.rbegin(), group.rend());
    worth.push_back(group[0] + group[1]);
  }
  std::vector<uint32_t> order(params.n_groups);
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return worth[a] != worth[b] ? worth[a] > worth[b] : a < b;
  });
  for (uint32_t i = params.groups_chosen; i < params.n_groups; ++i)
    std::fill_n(choice.begin() + order[i] * size, size, -INFINITY);
}

inline void route_ref(const RouteCpuArgs& args) {
  const RouteParams& params = args.params;
  for (uint32_t t = 0; t < args.n_rows; ++t) {
    std::vector<double> scores;
    for (uint32_t e = 0; e < params.n_experts; ++e) {
      const double logit = args.logits[uint64_t{t} * params.n_experts + e];
      scores.push_back(params.scores == ExpertScores::kSigmoid ? 1 / (1 + std::exp(-logit))
                                                               : logit);
    }
    if (params.scores == ExpertScores::kSoftmax) scores = softmax_ref(scores);
    std::vector<double> choice = scores;
    for (uint32_t e = 0; e < params.n_experts && args.selection_bias; ++e)
      choice[e] += args.selection_bias[e];
    if (params.n_groups > 1) keep_best_groups_ref(params, choice);
    std::vector<uint32_t> order(params.n_experts);
    std::iota(order.begin(), order.end(), 0u);
    std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
      return choice[a] != choice[b] ? choice[a] > choice[b] : a < b;
    });
    order.resize(params.n_chosen);
    std::vector<double> weights;
    for (uint32_t e : order) weights.push_back(scores[e]);
    if (params.scores == ExpertScores::kSoftmaxOfChosen) weights = softmax_ref(weights);
    for (uint32_t i = 0; i < params.n_chosen && params.scores == ExpertScores::kSparseMixer; ++i) {
      const double most = scores[order[i]];
      double sum = 0;
      for (uint32_t e = 0; e < params.n_experts; ++e) {
        if (std::find(order.begin(), order.begin() + i, e) != order.begin() + i) continue;
        const double margin = double{kSparseMixerMargin} * std::max(std::abs(scores[e]), most);
        if (most - scores[e] <= margin) sum += std::exp(scores[e] - most);
      }
      weights[i] = 1 / sum;
    }
    const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
    for (uint32_t i = 0; i < params.n_chosen; ++i) {
      const double weight = params.normalise ? weights[i] / sum : weights[i];
      args.experts[uint64_t{t} * params.n_chosen + i] = order[i];
      args.weights[uint64_t{t} * params.n_chosen + i] = static_cast<float>(weight * params.scale);
    }
  }
}

}  // namespace puna::kernels
