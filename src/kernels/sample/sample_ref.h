// The plain form of sampling.h: sort, cut, draw. The fast forms give the same ids.
#pragma once

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <vector>

#include "kernels/sample/arithmetic.h"
#include "kernels/sample/sampling.h"

namespace puna::kernels {

// The logits after bias and penalties, as keys by id.
inline std::vector<uint32_t> sample_keys_ref(const SamplingParams& params,
                                             std::span<const float> logits,
                                             std::span<const int32_t> text) {
  const SampleRow row = sample_row(params);
  const auto recent = text.last(std::min<size_t>(text.size(), row.window));
  std::vector<uint32_t> keys;
  for (size_t i = 0; i < logits.size(); ++i) {
    const auto id = static_cast<int32_t>(i);
    float l = logits[i];
    for (const auto& [biased, value] : params.logit_bias) {
      if (biased == id && !std::isnan(l)) l = value == -INFINITY ? value : l + value;
    }
    const auto count = static_cast<uint32_t>(std::count(recent.begin(), recent.end(), id));
    if (count > 0 && l != -INFINITY) l = sampling::penalized(l, count, row);
    keys.push_back(sampling::order_key(l));
  }
  return keys;
}

// The ids that stay, the largest first, ids rising among equals.
inline std::vector<uint32_t> sample_kept_ref(const SamplingParams& params,
                                             std::span<const uint32_t> keys) {
  const SampleRow row = sample_row(params);
  std::vector<uint32_t> ids(keys.size());
  std::iota(ids.begin(), ids.end(), 0u);
  std::sort(ids.begin(), ids.end(), [&](uint32_t a, uint32_t b) {
    return keys[a] > keys[b] || (keys[a] == keys[b] && a < b);
  });
  const uint32_t top = keys[ids[0]];
  // Keeps n, and what equals the last of them.
  const auto keep = [&](size_t n) {
    while (n < ids.size() && keys[ids[n]] == keys[ids[n - 1]]) ++n;
    ids.resize(std::min(n, ids.size()));
  };
  if (params.greedy()) {
    keep(1);
    return ids;
  }
  if (params.top_k > 0) keep(params.top_k);
  if (row.top_p > 0) {
    uint64_t total = 0, sum = 0;
    for (uint32_t id : ids) total += sampling::weight(keys[id], top);
    const uint64_t wanted = (total >> 32) * row.top_p + (((total & 0xffffffff) * row.top_p) >> 32);
    size_t n = 0;
    do sum += sampling::weight(keys[ids[n++]], top);
    while (sum < wanted);
    keep(n);
  }
  if (params.min_p > 0) {
    const uint32_t lowest = sampling::order_key(sampling::value_of(top) + row.log_min_p);
    std::erase_if(ids, [&](uint32_t id) { return keys[id] < lowest; });
  }
  return ids;
}

// The token at `position` after `text`.
inline int32_t sample_ref(const SamplingParams& params, std::span<const float> logits,
                          std::span<const int32_t> text, uint32_t position) {
  const SampleRow row = sample_row(params);
  const std::vector<uint32_t> keys = sample_keys_ref(params, logits, text);
  const auto [least, largest] = std::minmax_element(keys.begin(), keys.end());
  if (!sampling::can_choose(*least, *largest)) return kNoToken;
  std::vector<uint32_t> ids = sample_kept_ref(params, keys);
  if (params.greedy()) return static_cast<int32_t>(ids[0]);
  const uint32_t top = keys[ids[0]];
  const auto points = [&](uint32_t id) {
    const auto words = sampling::noise_words(id / 4 * 4, position, row.seed_low, row.seed_high);
    return sampling::score(sampling::distance(keys[id], top), row.scale, words[id % 4]);
  };
  std::sort(ids.begin(), ids.end());
  return static_cast<int32_t>(*std::max_element(
      ids.begin(), ids.end(), [&](uint32_t a, uint32_t b) { return points(a) < points(b); }));
}

}  // namespace puna::kernels
