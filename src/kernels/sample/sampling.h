// What a request says about choosing tokens, and what every device makes of it. The one definition;
// sample_ref.h
// says in plain words which tokens stay; sample_cpu.cpp and the templates of sample.h make the
// choice and agree to the last bit.
//
// From the logits of the token at position n of a sequence, first
//   the filter, if the text has one:  ids without a bit (sample.h) are forbidden, l = -inf;
//   logit bias:  l += bias[id]; -inf forbids the token.
// Then the stages, in the order that `samplers` gives; usual_samplers() is this one:
//   penalties    for ids among the `repeat_last` tokens before n (c times): l = l > 0 ? l / repeat
//                : l * repeat (Keskar et al. 2019), then l -= c * frequency + presence (OpenAI).
//   dry          dry.h; for ids that would go on with a repetition.
//   top_n_sigma  those within so many standard deviations of the logits, of those that are left,
//                below the largest stay (Tang et al. 2024).
//   top_k        the k largest l stay (Fan et al. 2018).
//   typ_p        with d the distance of l from the largest and D its mean by the softmax, tokens
//                in the order of |d - D|, as many as reach p: those as surprising as is usual
//                (Meister et al. 2022; |d - D| is the paper's difference of surprise and entropy).
//   top_p        the fewest largest whose softmax reaches p (Holtzman et al. 2019).
//   min_p        the ones of at least min_p times the largest probability (Nguyen et al. 2024).
//   xtc          with a chance of `xtc_probability`, of the tokens of at least `xtc_threshold` all
//                go but the least probable (p-e-w, text-generation-webui PR 6335).
//   temperature  l /= temperature; at 0 the largest l stays. With a range the temperature lies
//                between temperature - range and + range, by (entropy / largest entropy) ^
//                exponent (kalomaze 2023, llama.cpp PR 4972).
// With mirostat (Basu et al. 2020) the stages from top_n_sigma to xtc are left out, and behind the
// others those tokens stay that keep the surprise of the text near tau bits: version 1 as many as
// the paper's estimate of the distribution's slope gives, version 2 those of at most mu bits. After
// each token mu -= eta * (its surprise - tau), from mu = 2 tau on (SamplerState).
// Last the draw, with probability softmax(l); at temperature 0 the largest l, the lowest id among
// equals.
//
// Probabilities are of what is left at that point. The usual order is that of llama.cpp and
// ollama, so that settings carry over; cuts come before the temperature, so that a high one does
// not let in what the model holds for impossible. Tokens of equal l stay or go together: the choice
// does not depend on how ids are numbered. Tokens e^19 times less probable than the largest have no
// weight, and go with the first cut by probability.
//
// Where a logit is NaN or +inf, or all are -inf, nothing can be chosen, and the choice is kNoToken:
// something went wrong before. A logit of -inf is a token that the model rules out. Bias and
// penalties are f32 sums and products, one rounding each; from there on everything is integers
// (arithmetic.h), which no compiler or driver rounds its own way, but for the standard deviation
// of top_n_sigma and DRY's power (f64, one rounding each), and version 1 of mirostat, whose
// logarithms and power are those of the C library. The draw is Gumbel's: the largest of
// l / temperature + noise, with noise from Philox (seed; n, id), so draws need no state, and
// neither the device nor what else is in its batch changes a text. Chances of XTC come from Philox
// too (seed; n, 1).
//
// Penalties, top_k, top_p, min_p and temperature in this order are what GPUs do themselves. With
// any other stage or order, and for probabilities, the logits come to the host (on_host()).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace puna::kernels {

constexpr int32_t kNoToken = -1;
constexpr uint32_t kMaxLogitBias = 1024;   // tokens with a bias in one request
constexpr uint32_t kMaxDryBreakers = 256;  // sequences, of as many tokens at most
constexpr uint32_t kMaxProbs = 128;        // tokens whose probabilities a request may ask for

// What parameters may be.
struct Bounds {
  float lowest, highest;
};
inline constexpr Bounds kTemperature{0, 100}, kProbability{0, 1}, kRepeatPenalty{0.01f, 100},
    kPenalty{-100, 100}, kSigmas{0, 100}, kExponent{0, 100}, kDryMultiplier{0, 100},
    kDryBase{1, 100}, kTau{0, 100}, kEta{0, 10};

// The stages by their names in llama.cpp's `samplers`.
enum class Sampler : uint8_t {
  kPenalties,
  kDry,
  kTopNSigma,
  kTopK,
  kTypicalP,
  kTopP,
  kMinP,
  kXtc,
  kTemperature
};
std::string_view name(Sampler sampler);  // "penalties", "typ_p", ...
std::optional<Sampler> sampler_named(std::string_view name);
std::vector<Sampler> usual_samplers();

struct DryParams {
  float multiplier = 0;  // 0 = off
  float base = 1.75f;
  uint32_t allowed_length = 2;
  uint32_t last = 64;                               // tokens that it looks back; 0 = none
  std::vector<std::vector<int32_t>> breakers = {};  // as ids
};

struct MirostatParams {
  uint32_t version = 0;  // 0 = off, 1, 2
  float tau = 5;         // bits of surprise that are aimed at
  float eta = 0.1f;      // how fast
};

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

  float dynatemp_range = 0.0f;  // 0 = off
  float dynatemp_exponent = 1.0f;
  float top_n_sigma = 0.0f;      // 0 = off
  float typical_p = 1.0f;        // 1 = off
  float xtc_probability = 0.0f;  // 0 = off
  float xtc_threshold = 0.1f;
  DryParams dry = {};
  MirostatParams mirostat = {};
  std::vector<Sampler> samplers = usual_samplers();  // each once; those left out are off

  // The stages that change something, in their order.
  std::vector<Sampler> stages() const;
  bool greedy() const {
    return temperature == 0.0f && dynatemp_range == 0.0f && has(Sampler::kTemperature);
  }
  bool penalized() const {
    return repeat_last > 0 && has(Sampler::kPenalties) &&
           (repeat_penalty != 1.0f || presence_penalty != 0.0f || frequency_penalty != 0.0f);
  }
  // Tokens of the text that the choice depends on.
  uint32_t looks_back() const;
  // Whether the token is chosen from logits that come to the host, whatever the device.
  bool on_host() const;
  bool has(Sampler stage) const;  // whether it is in the list
};

// What a text remembers from token to token.
struct SamplerState {
  std::optional<float> mirostat_mu;  // none: before the first token
};
// Errors: kInvalidArgument naming the parameter, its value and its range.
base::Result<void> check(const SamplingParams& params);

// A probability in units of 2^-32, below 1; 1 at least.
uint32_t fraction_q32(float p);
// From a distance in l to one in scores (arithmetic.h) at a temperature above 0: 2^24 log2(e) / it.
float score_scale(float temperature);

// The parameters as devices use them, 16 words.
struct SampleRow {
  float scale;      // score_scale(temperature); 0 = greedy
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
