// What a request says about choosing tokens, and what every device makes of it. The one definition;
// sample_ref.h
// says in plain words which tokens stay; sample_cpu.cpp and the templates of sample.h make the
// choice and agree to the last bit.
//
// From the logits of the token at position n of a sequence:
//   0. the filter, if the text has one:  ids without a bit (sample.h) are forbidden, l = -inf.
//   1. logit bias:  l += bias[id]; -inf forbids the token.
//   2. penalties, for ids among the `repeat_last` tokens before n (c times): l = l > 0 ? l / repeat
//      : l * repeat, then l -= c * frequency + presence.
//   3. top-k:  the k largest l stay.
//   4. top-p:  of those the fewest largest whose softmax at temperature 1 reaches p.
//   5. min-p:  of those the ones of at least min_p times the largest probability.
//   6. the draw, with probability softmax(l / temperature); at temperature 0 the largest l, the
//      lowest id among equals.
// The order is that of llama.cpp and ollama, so that settings carry over; cuts come before the
// temperature, so that a high one does not let in what the model holds for impossible. Tokens of
// equal l stay or go together: the choice does not depend on how ids are numbered.
//
// Where a logit is NaN or +inf, or all are -inf, nothing can be chosen, and the choice is kNoToken:
// something went wrong before. A logit of -inf is a token that the model rules out. Bias and
// penalties are f32 sums and products, one rounding each; from there on everything is integers
// (arithmetic.h), which no compiler or driver rounds its own way. The draw is Gumbel's: the largest
// of l / temperature + noise, with noise from Philox (seed; n, id), so draws need no state, and
// neither the device nor what else is in its batch changes a text.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "base/result.h"

namespace puna::kernels {

constexpr int32_t kNoToken = -1;
constexpr uint32_t kMaxLogitBias = 1024;  // tokens with a bias in one request
constexpr uint32_t kMaxProbs = 128;       // tokens whose probabilities a request may ask for

// What parameters may be.
struct Bounds {
  float lowest, highest;
};
inline constexpr Bounds kTemperature{0, 100}, kProbability{0, 1}, kRepeatPenalty{0.01f, 100},
    kPenalty{-100, 100};

struct SamplingParams {
  float temperature = 0.8f;        // 0 = greedy
  uint32_t top_k = 40;             // 0 = off
  float top_p = 0.95f;             // 1 = off
  float min_p = 0.05f;             // 0 = off
  float repeat_penalty = 1.0f;     // 1 = off (Keskar et al. 2019)
  float presence_penalty = 0.0f;   // 0 = off
  float frequency_penalty = 0.0f;  // 0 = off
  uint32_t repeat_last = 64;       // how many tokens the three look back; 0 = none
  std::vector<std::pair<int32_t, float>> logit_bias = {};  // (id, value), each id once
  uint64_t seed = 0;
  uint32_t n_probs = 0;  // the most probable tokens that are reported (chosen.h); 0 = none

  bool greedy() const { return temperature == 0.0f; }
  bool penalized() const {
    return repeat_last > 0 &&
           (repeat_penalty != 1.0f || presence_penalty != 0.0f || frequency_penalty != 0.0f);
  }
  // Whether the token is chosen from logits that come to the host, whatever the device.
  bool on_host() const { return n_probs > 0; }
};
// Errors: kInvalidArgument naming the parameter, its value and its range.
base::Result<void> check(const SamplingParams& params);

// The parameters as devices use them, 16 words.
struct SampleRow {
  float scale;      // from a distance in l to one in scores: 2^24 log2(e) / temperature; 0 = greedy
  uint32_t top_k;   // 0 = off
  uint32_t top_p;   // in units of 2^-32; 0 = off
  float log_min_p;  // -inf = off
  float repeat, repeat_inverse;
  float frequency, presence;
  uint32_t window;  // repeat_last; 0 without penalties
  uint32_t n_bias;
  uint32_t seed_low, seed_high;
  uint32_t zero;      // always 0; see opaque() in scan.wgsl
  uint32_t filtered;  // 1: only the ids that have a bit
  uint32_t unused[2];
  // Whether a threshold has to be searched for.
  bool cuts(uint32_t vocab) const {
    return scale != 0 && ((top_k > 0 && top_k < vocab) || top_p > 0);
  }
};
static_assert(sizeof(SampleRow) == 64);
SampleRow sample_row(const SamplingParams& params);

}  // namespace puna::kernels
