// The plain form of sampling.h: tokens in a list, sorted for each stage, dropped one by one. The
// fast forms give the same ids.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "kernels/sample/arithmetic.h"
#include "kernels/sample/sampling.h"
#include "kernels/sample/surprises.h"

namespace puna::kernels {

struct RefToken {
  uint32_t id = 0, key = 0;
};
using RefTokens = std::vector<RefToken>;

// Keeps those for which `stays` holds.
template <class Stays>
void keep_if_ref(RefTokens& tokens, const Stays& stays) {
  std::erase_if(tokens, [&](const RefToken& t) { return !stays(t); });
}

// Sorts by `order`, rising, and keeps the first ones whose weights reach a fraction of all, and
// what equals the last of them. At least one token that has a weight.
template <class Order>
void keep_share_ref(RefTokens& tokens, uint32_t top, uint32_t fraction, const Order& order) {
  // Beyond this distance there is no weight.
  keep_if_ref(tokens, [&](const RefToken& t) { return sampling::distance(t.key, top) <= 19; });
  std::stable_sort(tokens.begin(), tokens.end(),
                   [&](const RefToken& a, const RefToken& b) { return order(a) < order(b); });
  uint64_t total = 0, sum = 0;
  for (const RefToken& t : tokens) total += sampling::weight(t.key, top);
  const uint64_t wanted = (total >> 32) * fraction + (((total & 0xffffffff) * fraction) >> 32);
  size_t n = 0;
  do sum += sampling::weight(tokens[n++].key, top);
  while (n < tokens.size() && (sum < wanted || sum == 0));
  while (n < tokens.size() && order(tokens[n]) == order(tokens[n - 1])) ++n;
  tokens.resize(n);
}

// By how much DRY lowers each id: every pair of places is compared.
inline std::map<int32_t, double> dry_ref(const DryParams& dry, std::span<const int32_t> text) {
  text = text.last(std::min<size_t>(text.size(), dry.last));
  const auto is_at = [&](size_t end, const std::vector<int32_t>& breaker) {
    return end >= breaker.size() &&
           std::equal(breaker.begin(), breaker.end(),
                      text.begin() + static_cast<ptrdiff_t>(end - breaker.size()));
  };
  size_t most = text.size();
  for (size_t end = 1; end <= text.size(); ++end) {
    for (const auto& breaker : dry.breakers) {
      if (is_at(end, breaker)) most = text.size() - end;
    }
  }
  std::map<int32_t, double> out;
  for (size_t next = 1; next < text.size(); ++next) {
    size_t n = 0;
    while (n < next && n < most && text[next - 1 - n] == text[text.size() - 1 - n]) ++n;
    const int32_t id = text[next];
    const bool breaks =
        std::ranges::find(dry.breakers, std::vector<int32_t>(1, id)) != dry.breakers.end();
    if (n == 0 || n < dry.allowed_length || breaks) continue;
    double penalty = dry.multiplier;
    for (size_t i = dry.allowed_length; i < n && penalty < 1e30; ++i) penalty *= dry.base;
    out[id] = std::max(out[id], std::min(penalty, 1e30));
  }
  return out;
}

// The logits after bias and filter, as keys; ids rising.
inline RefTokens sample_tokens_ref(const SamplingParams& params, std::span<const float> logits,
                                   std::span<const uint32_t> allowed) {
  RefTokens tokens;
  for (uint32_t id = 0; id < logits.size(); ++id) {
    float l = logits[id];
    for (const auto& [biased, value] : params.logit_bias) {
      if (biased == static_cast<int32_t>(id) && !std::isnan(l))
        l = value == -INFINITY ? value : l + value;
    }
    if (!allowed.empty() && (allowed[id / 32] >> id % 32 & 1) == 0 && !std::isnan(l)) l = -INFINITY;
    tokens.push_back({id, sampling::order_key(l)});
  }
  return tokens;
}

// The token at `position` after `text`, which is in `state`, if any.
inline int32_t sample_ref(const SamplingParams& params, std::span<const float> logits,
                          std::span<const int32_t> text, uint32_t position,
                          std::span<const uint32_t> allowed = {}, SamplerState* state = nullptr) {
  using namespace sampling;
  const SampleRow row = sample_row(params);
  RefTokens tokens = sample_tokens_ref(params, logits, allowed);
  const auto top_key = [&] { return std::ranges::max(tokens, {}, &RefToken::key).key; };
  const auto keys = [&] {
    std::vector<uint32_t> out;
    for (const RefToken& t : tokens) out.push_back(t.key);
    return out;
  };
  const auto undecided = [&] {
    return !can_choose(std::ranges::min(tokens, {}, &RefToken::key).key, top_key());
  };
  const auto change = [&](const auto& of) {
    for (RefToken& t : tokens) {
      if (t.key > kKeyNegativeInfinity) t.key = order_key(of(t.id, value_of(t.key)));
    }
  };
  const auto draw = [&](float scale) {
    const uint32_t top = top_key();
    std::ranges::sort(tokens, {}, &RefToken::id);
    const auto points = [&](const RefToken& t) -> int64_t {
      if (scale == 0) return t.key;
      const auto words = noise_words(t.id / 4 * 4, position, params.seed);
      return score(distance(t.key, top), scale, words[t.id % 4]);
    };
    return *std::ranges::max_element(tokens, {}, points);
  };

  if (undecided()) return kNoToken;
  float scale = score_scale(1);
  const std::vector<Sampler> stages = params.stages();
  for (const Sampler stage : stages) {
    const uint32_t top = top_key();
    switch (stage) {
      case Sampler::kPenalties: {
        const auto recent = text.last(std::min<size_t>(text.size(), params.repeat_last));
        change([&](uint32_t id, float l) {
          const auto n = std::ranges::count(recent, static_cast<int32_t>(id));
          return n > 0 ? penalized(l, static_cast<uint32_t>(n), row) : l;
        });
        if (undecided()) return kNoToken;
        break;
      }
      case Sampler::kDry: {
        const auto lower = dry_ref(params.dry, text);
        change([&](uint32_t id, float l) {
          const auto found = lower.find(static_cast<int32_t>(id));
          return found == lower.end() ? l : l - static_cast<float>(found->second);
        });
        if (undecided()) return kNoToken;
        break;
      }
      case Sampler::kTopNSigma: {
        std::ranges::sort(tokens, {}, &RefToken::id);
        std::vector<double> finite;
        for (const RefToken& t : tokens) {
          if (t.key > kKeyNegativeInfinity) finite.push_back(value_of(t.key));
        }
        double sum = 0, squares = 0;
        for (const double l : finite) sum += l;
        const double mean = sum / static_cast<double>(finite.size());
        for (const double l : finite) {
          const volatile double square = (l - mean) * (l - mean);
          squares += square;
        }
        const auto below = static_cast<float>(
            params.top_n_sigma * std::sqrt(squares / static_cast<double>(finite.size())));
        keep_if_ref(tokens,
                    [&](const RefToken& t) { return t.key >= order_key(value_of(top) - below); });
        break;
      }
      case Sampler::kTopK: {
        std::ranges::stable_sort(tokens, std::greater<>(), &RefToken::key);
        size_t n = std::min<size_t>(params.top_k, tokens.size());
        while (n < tokens.size() && tokens[n].key == tokens[n - 1].key) ++n;
        tokens.resize(n);
        break;
      }
      case Sampler::kTypicalP: {
        uint64_t sum = 0, total = 0;
        const auto off = [&](const RefToken& t) {
          return static_cast<int64_t>(std::min(distance(t.key, top), 19.0f) * 0x1p20f);
        };
        for (const RefToken& t : tokens) {
          total += weight(t.key, top);
          sum += weight(t.key, top) * static_cast<uint64_t>(off(t));
        }
        const auto mean = static_cast<int64_t>(sum / total);
        keep_share_ref(tokens, top, fraction_q32(params.typical_p),
                       [&](const RefToken& t) { return std::abs(off(t) - mean); });
        break;
      }
      case Sampler::kTopP:
        keep_share_ref(tokens, top, fraction_q32(params.top_p),
                       [](const RefToken& t) { return ~t.key; });
        break;
      case Sampler::kMinP: {
        const auto below = static_cast<float>(std::log(double{params.min_p}));
        keep_if_ref(tokens,
                    [&](const RefToken& t) { return t.key >= order_key(value_of(top) + below); });
        break;
      }
      case Sampler::kXtc: {
        const bool certain = params.xtc_probability >= 1;
        if (!certain && chance_word(position, params.seed) >= fraction_q32(params.xtc_probability))
          break;
        uint64_t total = 0;
        for (const RefToken& t : tokens) total += weight(t.key, top);
        const uint32_t f = fraction_q32(params.xtc_threshold);
        const uint64_t wanted = (total >> 32) * f + (((total & 0xffffffff) * f) >> 32);
        uint32_t least = top;
        for (const RefToken& t : tokens) {
          const uint32_t w = weight(t.key, top);
          if (w > 0 && w >= wanted) least = std::min(least, t.key);
        }
        keep_if_ref(tokens, [&](const RefToken& t) { return t.key <= least; });
        break;
      }
      case Sampler::kTemperature: {
        float t = params.temperature;
        if (params.dynatemp_range > 0) {
          const Surprises surprises(keys());
          if (surprises.most_entropy > 0) t = dynamic_temperature(params, surprises);
        }
        if (t == 0) return static_cast<int32_t>(draw(0).id);
        if (stage == stages.back() && params.mirostat.version == 0) {
          scale = score_scale(t);
          break;
        }
        const float inverse = std::min(1 / t, 1e30f);
        change([&](uint32_t, float l) { return std::clamp(l * inverse, -3e38f, 3e38f); });
        break;
      }
    }
  }
  if (params.mirostat.version != 2) return static_cast<int32_t>(draw(scale).id);
  // Version 2; that of version 1 is tested by what it is for, because libraries of logarithms
  // differ in the last place.
  const float mu = state && state->mirostat_mu ? *state->mirostat_mu : 2 * params.mirostat.tau;
  const Surprises all(keys());
  const uint32_t top = top_key();
  keep_if_ref(tokens, [&](const RefToken& t) {
    return t.key == top || (t.key > kKeyNegativeInfinity &&
                            static_cast<double>(all.of(t.key)) <= std::trunc(mu * 0x1p24));
  });
  const Surprises kept(keys());
  const RefToken chosen = draw(scale);
  const float surprise = static_cast<float>(kept.of(chosen.key)) * 0x1p-24f;
  const volatile float step = params.mirostat.eta * (surprise - params.mirostat.tau);
  if (state) state->mirostat_mu = mu - step;
  return static_cast<int32_t>(chosen.id);
}

}  // namespace puna::kernels
