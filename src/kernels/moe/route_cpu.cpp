// CPU form of route.h: rows over threads, each row by plain loops over a few hundred experts.
#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>

#include "base/check.h"
#include "kernels/moe/route.h"

namespace puna::kernels {
namespace {

constexpr float kNever = -std::numeric_limits<float>::infinity();

// A row's scores, and what experts are chosen by.
struct Row {
  std::array<float, kMaxExperts> scores;
  std::array<float, kMaxExperts> choice;
};

void softmax(float* v, uint32_t n) {
  const float largest = *std::max_element(v, v + n);
  float sum = 0;
  for (uint32_t i = 0; i < n; ++i) sum += v[i] = std::exp(v[i] - largest);
  for (uint32_t i = 0; i < n; ++i) v[i] /= sum;
}

void score(const RouteCpuArgs& args, const float* logits, Row& row) {
  const uint32_t n = args.params.n_experts;
  std::copy_n(logits, n, row.scores.begin());
  if (args.params.scores == ExpertScores::kSoftmax) softmax(row.scores.data(), n);
  if (args.params.scores == ExpertScores::kSigmoid) {
    for (uint32_t e = 0; e < n; ++e) row.scores[e] = 1.0f / (1.0f + std::exp(-row.scores[e]));
  }
  for (uint32_t e = 0; e < n; ++e)
    row.choice[e] = row.scores[e] + (args.selection_bias ? args.selection_bias[e] : 0.0f);
}

// The largest of v, the first of equals; taken out of it.
uint32_t take_best(float* v, uint32_t n) {
  const auto best = static_cast<uint32_t>(std::max_element(v, v + n) - v);
  v[best] = kNever;
  return best;
}

void keep_best_groups(const RouteParams& params, Row& row) {
  const uint32_t size = params.n_experts / params.n_groups;
  std::array<float, kMaxExperts> worth{};
  for (uint32_t g = 0; g < params.n_groups; ++g) {
    float first = kNever;
    float second = kNever;
    for (uint32_t e = g * size; e < (g + 1) * size; ++e) {
      second = std::max(second, std::min(first, row.choice[e]));
      first = std::max(first, row.choice[e]);
    }
    worth[g] = first + second;
  }
  std::array<bool, kMaxExperts> kept{};
  for (uint32_t i = 0; i < params.groups_chosen; ++i)
    kept[take_best(worth.data(), params.n_groups)] = true;
  for (uint32_t e = 0; e < params.n_experts; ++e) {
    if (!kept[e / size]) row.choice[e] = kNever;
  }
}

// The weight of slot i, whose experts before it are chosen already.
float sparse_mixer(const float* scores, uint32_t n, const uint32_t* experts, uint32_t i) {
  const float most = scores[experts[i]];
  float sum = 0;
  for (uint32_t e = 0; e < n; ++e) {
    const float margin = kSparseMixerMargin * std::max(std::abs(scores[e]), most);
    if (most - scores[e] <= margin && std::find(experts, experts + i, e) == experts + i)
      sum += std::exp(scores[e] - most);
  }
  return 1 / sum;
}

void route_row(const RouteCpuArgs& args, uint64_t t, Row& row) {
  const RouteParams& params = args.params;
  score(args, args.logits + t * params.n_experts, row);
  if (params.n_groups > 1) keep_best_groups(params, row);
  uint32_t* experts = args.experts + t * params.n_chosen;
  float* weights = args.weights + t * params.n_chosen;
  for (uint32_t i = 0; i < params.n_chosen; ++i) {
    experts[i] = take_best(row.choice.data(), params.n_experts);
    weights[i] = params.scores == ExpertScores::kSparseMixer
                     ? sparse_mixer(row.scores.data(), params.n_experts, experts, i)
                     : row.scores[experts[i]];
  }
  if (params.scores == ExpertScores::kSoftmaxOfChosen) softmax(weights, params.n_chosen);
  float sum = 0;
  for (uint32_t i = 0; i < params.n_chosen; ++i) sum += weights[i];
  const float factor = params.normalise ? params.scale / sum : params.scale;
  for (uint32_t i = 0; i < params.n_chosen; ++i) weights[i] *= factor;
}

}  // namespace

void route_cpu(base::ThreadPool& pool, const RouteCpuArgs& args) {
  PUNA_CHECK(args.params.n_experts <= kMaxExperts);
  const auto rows = [&](uint32_t begin, uint32_t end) {
    Row row;
    for (uint32_t t = begin; t < end; ++t) route_row(args, t, row);
  };
  pool.run(args.n_rows, 16, std::ref(rows));
}

}  // namespace puna::kernels
