#include "kernels/sample/sample_cpu.h"

#include <algorithm>
#include <cmath>

#include "kernels/sample/arithmetic.h"
#include "kernels/sample/dry.h"
#include "kernels/sample/mirostat.h"
#include "kernels/sample/surprises.h"

namespace puna::kernels {

using namespace sampling;

bool can_choose(std::span<const float> logits) {
  uint32_t least = ~0u, largest = 0;
  for (const float l : logits) {
    const uint32_t key = order_key(l);
    least = std::min(least, key);
    largest = std::max(largest, key);
  }
  return sampling::can_choose(least, largest);
}

void CpuSampler::make_keys(const SamplingParams& params, std::span<const float> logits,
                           std::span<const uint32_t> allowed) {
  keys_.resize(logits.size());
  for (size_t i = 0; i < logits.size(); ++i) keys_[i] = order_key(logits[i]);
  cut_ = false;
  lowest_ = 0;
  highest_ = ~0u;
  for (const auto& [id, bias] : params.logit_bias) {
    uint32_t& key = keys_[static_cast<size_t>(id)];
    if (key == kKeyNan) continue;
    key = bias == -INFINITY ? kKeyNegativeInfinity
                            : order_key(logits[static_cast<size_t>(id)] + bias);
  }
  for (size_t id = 0; id < keys_.size() && !allowed.empty(); ++id) {
    const bool may = allowed[id / 32] >> id % 32 & 1;
    if (!may && keys_[id] != kKeyNan) keys_[id] = kKeyNegativeInfinity;
  }
}

void CpuSampler::penalize(const SamplingParams& params, std::span<const int32_t> text) {
  const SampleRow row = sample_row(params);
  const auto last = text.last(std::min<size_t>(text.size(), row.window));
  std::vector<int32_t> recent(last.begin(), last.end());
  std::erase_if(recent, [](int32_t id) { return id < 0; });
  std::ranges::sort(recent);
  for (auto id = recent.begin(); id != recent.end();) {
    const auto end = std::upper_bound(id, recent.end(), *id);
    uint32_t& key = keys_[static_cast<size_t>(*id)];
    if (key > kKeyNegativeInfinity)
      key = order_key(penalized(value_of(key), static_cast<uint32_t>(end - id), row));
    id = end;
  }
}

void CpuSampler::lower_repetitions(const SamplingParams& params, std::span<const int32_t> text) {
  for (const auto& [id, penalty] : dry_penalties(params.dry, text)) {
    uint32_t& key = keys_[static_cast<size_t>(id)];
    if (key > kKeyNegativeInfinity) key = order_key(value_of(key) - penalty);
  }
}

bool CpuSampler::can_choose() {
  uint32_t least = ~0u, top = 0;
  for (const uint32_t key : keys_) {
    least = std::min(least, key);
    top = std::max(top, key);
  }
  top_ = top;
  return sampling::can_choose(least, top);
}

Keys& CpuSampler::kept() {
  if (std::exchange(cut_, true)) return kept_;
  kept_ = keys_;
  return kept_;
}

void CpuSampler::settle() {
  if (!std::exchange(cut_, false)) return;
  for (uint32_t& key : keys_) {
    if (key < lowest_ || key > highest_) key = kKeyNegativeInfinity;
  }
  lowest_ = 0;
  highest_ = ~0u;
}

void CpuSampler::cut(Sampler stage, const SamplingParams& params, uint32_t position) {
  if (stage == Sampler::kTopNSigma) settle();  // the sums go by id
  Keys& keys = kept();
  switch (stage) {
    case Sampler::kTopNSigma:
      keep_above(keys, -deviations(keys, params.top_n_sigma));
      break;
    case Sampler::kTopK:
      keep_top_k(keys, params.top_k);
      break;
    case Sampler::kTypicalP:
      keep_typical(keys, fraction_q32(params.typical_p));
      break;
    case Sampler::kTopP:
      keep_top_p(keys, fraction_q32(params.top_p));
      break;
    case Sampler::kMinP:
      keep_above(keys, static_cast<float>(std::log(double{params.min_p})));
      break;
    default: {  // XTC
      const uint32_t word = chance_word(position, params.seed);
      if (params.xtc_probability < 1 && word >= fraction_q32(params.xtc_probability)) return;
      drop_top_choices(keys, fraction_q32(params.xtc_threshold));
    }
  }
  lowest_ = std::ranges::min(kept_);
  highest_ = std::ranges::max(kept_);
}

float CpuSampler::temperature(const SamplingParams& params) {
  if (params.dynatemp_range == 0) return params.temperature;
  const Surprises surprises(kept());
  if (surprises.most_entropy == 0) return params.temperature;  // one token
  return dynamic_temperature(params, surprises);
}

void CpuSampler::divide(float temperature) {
  constexpr float kMost = 3e38f, kMostInverse = 1e30f;  // all stays finite
  settle();
  const float inverse = std::min(1 / temperature, kMostInverse);
  for (uint32_t& key : keys_) {
    if (key > kKeyNegativeInfinity)
      key = order_key(std::clamp(value_of(key) * inverse, -kMost, kMost));
  }
}

int32_t CpuSampler::draw(float scale, uint64_t seed, uint32_t position) const {
  const uint32_t top = std::min(top_, highest_);
  if (scale == 0) return static_cast<int32_t>(std::ranges::find(keys_, top) - keys_.begin());
  const uint32_t lowest = lowest_, range = highest_ - lowest_;
  const auto stays = [&](uint32_t key) { return key - lowest <= range; };
  int32_t best_id = -1, best_score = 0;
  for (uint32_t first = 0; first < keys_.size(); first += 4) {
    const size_t n = std::min<size_t>(4, keys_.size() - first);
    const auto four = std::span(keys_).subspan(first, n);
    if (std::ranges::none_of(four, stays)) continue;
    const auto words = noise_words(first, position, seed);
    for (size_t i = 0; i < n; ++i) {
      if (!stays(four[i])) continue;
      const int32_t points = score(distance(four[i], top), scale, words[i]);
      if (best_id >= 0 && points <= best_score) continue;
      best_id = static_cast<int32_t>(first + i);
      best_score = points;
    }
  }
  return best_id;
}

int32_t CpuSampler::sample(const SamplingParams& params, std::span<const float> logits,
                           std::span<const int32_t> text, uint32_t position,
                           std::span<const uint32_t> allowed, SamplerState* state) {
  make_keys(params, logits, allowed);
  if (!can_choose()) return kNoToken;
  float scale = score_scale(1);
  const std::vector<Sampler> stages = params.stages();
  for (const Sampler stage : stages) {
    if (stage == Sampler::kPenalties || stage == Sampler::kDry) {
      settle();
      stage == Sampler::kDry ? lower_repetitions(params, text) : penalize(params, text);
      if (!can_choose()) return kNoToken;
    } else if (stage != Sampler::kTemperature) {
      cut(stage, params, position);
    } else if (const float t = temperature(params); t == 0) {
      return draw(0, params.seed, position);  // one token is left, whatever comes next
    } else if (stage == stages.back() && params.mirostat.version == 0) {
      scale = score_scale(t);
    } else {
      divide(t);
      if (!can_choose()) return kNoToken;
    }
  }
  if (params.mirostat.version == 0) return draw(scale, params.seed, position);
  const float mu =
      state && state->mirostat_mu ? *state->mirostat_mu : mirostat_begin(params.mirostat);
  mirostat_cut(params.mirostat, mu, static_cast<uint32_t>(keys_.size()), kept());
  lowest_ = std::ranges::min(kept_);
  highest_ = std::ranges::max(kept_);
  const int32_t id = draw(scale, params.seed, position);
  if (state) {
    state->mirostat_mu = mirostat_next(params.mirostat, mu, kept_, keys_[static_cast<size_t>(id)]);
  }
  return id;
}

Chosen CpuSampler::choose(const SamplingParams& params, std::span<const float> logits,
                          std::span<const int32_t> text, uint32_t position,
                          std::span<const uint32_t> allowed, SamplerState* state) {
  Chosen chosen;
  chosen.id = sample(params, logits, text, position, allowed, state);
  if (params.n_probs > 0 && chosen.id != kNoToken) add_logprobs(logits, params.n_probs, chosen);
  return chosen;
}

}  // namespace puna::kernels
