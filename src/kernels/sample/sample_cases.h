// Sets of parameters that tests of sampling share, and texts for penalties.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "kernels/sample/sampling.h"

namespace puna::kernels::test {

// As many as a step has rows: each cut alone and together, none, greedy, penalties and bias.
inline std::vector<SamplingParams> sampling_cases(uint32_t vocab) {
  const auto plain = [](float temperature) {
    SamplingParams p;
    p.temperature = temperature;
    p.top_k = 0;
    p.top_p = 1;
    p.min_p = 0;
    return p;
  };
  const auto with = [](SamplingParams p, auto change) {
    change(p);
    return p;
  };
  using P = SamplingParams;
  const auto last = static_cast<int32_t>(vocab - 1);
  std::vector<P> out = {
      P(),
      plain(0),
      plain(1),
      plain(0.3f),
      plain(50),
      with(plain(1), [](P& p) { p.top_k = 1; }),
      with(plain(2), [](P& p) { p.top_k = 40; }),
      with(plain(1), [](P& p) { p.top_k = 500; }),
      with(plain(1), [](P& p) { p.top_p = 0.9f; }),
      with(plain(1.5f), [](P& p) { p.top_p = 0.999f; }),
      with(plain(1), [](P& p) { p.min_p = 0.02f; }),
      with(P(), [](P& p) { p.temperature = 1.7f, p.top_k = 100, p.top_p = 0.8f; }),
      with(P(), [](P& p) { p.repeat_penalty = 1.3f, p.temperature = 1.1f; }),
      with(plain(0), [](P& p) { p.presence_penalty = 1.5f, p.frequency_penalty = 0.7f; }),
      with(P(),
           [&](P& p) {
             p.logit_bias = {{last, 3.5f}, {0, -INFINITY}};
             p.repeat_penalty = 0.9f, p.frequency_penalty = 0.01f, p.repeat_last = 1000;
           }),
      with(P(), [](P& p) { p.top_k = 0, p.top_p = 0.0f, p.temperature = 1; }),
  };
  if (vocab == 1) out[14].logit_bias = {{0, -INFINITY}};
  for (size_t i = 0; i < out.size(); ++i) out[i].seed = 1000 * i + (uint64_t{i} << 40);
  return out;
}

// n tokens, some of them often.
inline std::vector<int32_t> sampling_text(uint32_t vocab, uint32_t n, uint32_t seed) {
  std::vector<int32_t> text;
  for (uint32_t i = 0; i < n; ++i) {
    const uint32_t x = (i + 1) * 2654435761u + seed * 40503u;
    text.push_back(static_cast<int32_t>((x >> 8) % (i % 3 == 0 ? std::min(vocab, 7u) : vocab)));
  }
  return text;
}

}  // namespace puna::kernels::test
