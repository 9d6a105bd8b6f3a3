#include "kernels/sample/sample_cpu.h"

#include <algorithm>
#include <functional>

#include "kernels/sample/arithmetic.h"

namespace puna::kernels {

using namespace sampling;

namespace {

constexpr float kNoWeight = 19;  // further below the top a weight is 0

// The smallest key of the fewest largest that reach `wanted`; keys fall.
uint32_t cut_by_weight(std::span<const uint32_t> keys, uint32_t top, uint32_t top_p) {
  uint64_t total = 0;
  for (uint32_t key : keys) total += weight(key, top);
  const uint64_t wanted =
      std::max<uint64_t>((total >> 32) * top_p + (((total & 0xffffffff) * top_p) >> 32), 1);
  uint64_t sum = 0;
  for (uint32_t key : keys) {
    sum += weight(key, top);
    if (sum >= wanted) return key;
  }
  return keys.back();
}

}  // namespace

void CpuSampler::make_keys(const SamplingParams& params, const SampleRow& row,
                           std::span<const float> logits, std::span<const int32_t> text) {
  keys_.resize(logits.size());
  for (size_t i = 0; i < logits.size(); ++i) keys_[i] = order_key(logits[i]);
  if (row.window == 0 && row.n_bias == 0) return;
  // (id, count) of recent tokens and (id, bias), merged by sorting.
  const size_t n = std::min<size_t>(text.size(), row.window);
  std::vector<int32_t> recent(text.end() - static_cast<ptrdiff_t>(n), text.end());
  std::sort(recent.begin(), recent.end());
  auto bias = params.logit_bias;
  for (int32_t id : recent) bias.emplace_back(id, 0.0f);
  std::sort(bias.begin(), bias.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  for (size_t i = 0; i < bias.size();) {
    const int32_t id = bias[i].first;
    float sum = 0;
    for (; i < bias.size() && bias[i].first == id; ++i) sum += bias[i].second;
    uint32_t& key = keys_[static_cast<size_t>(id)];
    if (std::isnan(logits[static_cast<size_t>(id)])) continue;
    if (sum == -INFINITY) {
      key = kKeyNegativeInfinity;
      continue;
    }
    const auto [first, last] = std::equal_range(recent.begin(), recent.end(), id);
    float l = logits[static_cast<size_t>(id)] + sum;
    if (first != last) l = penalized(l, static_cast<uint32_t>(last - first), row);
    key = order_key(l);
  }
}

void CpuSampler::forbid(std::span<const uint32_t> allowed) {
  if (allowed.empty()) return;
  for (size_t id = 0; id < keys_.size(); ++id) {
    const bool may = allowed[id / 32] >> id % 32 & 1;
    if (!may && keys_[id] != kKeyNan) keys_[id] = kKeyNegativeInfinity;
  }
}

uint32_t CpuSampler::threshold(const SampleRow& row, uint32_t top) {
  uint32_t lowest = 0;
  if (row.cuts(static_cast<uint32_t>(keys_.size()))) {
    kept_ = keys_;
    if (row.top_k > 0 && row.top_k < kept_.size()) {
      const auto last = kept_.begin() + static_cast<ptrdiff_t>(row.top_k - 1);
      std::nth_element(kept_.begin(), last, kept_.end(), std::greater<>());
      lowest = *last;
      std::erase_if(kept_, [&](uint32_t key) { return key < lowest; });
    }
    if (row.top_p > 0) {
      const uint32_t weightless = std::min(top, order_key(value_of(top) - kNoWeight));
      std::erase_if(kept_, [&](uint32_t key) { return key < weightless; });
      std::sort(kept_.begin(), kept_.end(), std::greater<>());
      lowest = std::max(lowest, cut_by_weight(kept_, top, row.top_p));
    }
  }
  if (row.log_min_p != -INFINITY)
    lowest = std::max(lowest, order_key(value_of(top) + row.log_min_p));
  return lowest;
}

bool can_choose(std::span<const float> logits) {
  uint32_t least = ~0u, largest = 0;
  for (const float l : logits) {
    const uint32_t key = order_key(l);
    least = std::min(least, key);
    largest = std::max(largest, key);
  }
  return sampling::can_choose(least, largest);
}

int32_t CpuSampler::sample(const SamplingParams& params, std::span<const float> logits,
                           std::span<const int32_t> text, uint32_t position,
                           std::span<const uint32_t> allowed) {
  const SampleRow row = sample_row(params);
  make_keys(params, row, logits, text);
  forbid(allowed);
  uint32_t least = ~0u, top = 0;
  for (const uint32_t key : keys_) {
    least = std::min(least, key);
    top = std::max(top, key);
  }
  if (!sampling::can_choose(least, top)) return kNoToken;
  if (row.scale == 0)
    return static_cast<int32_t>(std::find(keys_.begin(), keys_.end(), top) - keys_.begin());
  const uint32_t lowest = threshold(row, top);
  int32_t best_id = -1, best_score = 0;
  for (uint32_t first = 0; first < keys_.size(); first += 4) {
    const size_t n = std::min<size_t>(4, keys_.size() - first);
    const auto four = std::span(keys_).subspan(first, n);
    if (std::ranges::none_of(four, [&](uint32_t key) { return key >= lowest; })) continue;
    const auto words = noise_words(first, position, row.seed_low, row.seed_high);
    for (size_t i = 0; i < n; ++i) {
      if (four[i] < lowest) continue;
      const int32_t points = score(distance(four[i], top), row.scale, words[i]);
      if (best_id >= 0 && points <= best_score) continue;
      best_id = static_cast<int32_t>(first + i);
      best_score = points;
    }
  }
  return best_id;
}

Chosen CpuSampler::choose(const SamplingParams& params, std::span<const float> logits,
                          std::span<const int32_t> text, uint32_t position,
                          std::span<const uint32_t> allowed) {
  Chosen chosen;
  chosen.id = sample(params, logits, text, position, allowed);
  if (params.n_probs > 0 && chosen.id != kNoToken) add_logprobs(logits, params.n_probs, chosen);
  return chosen;
}

}  // namespace puna::kernels
