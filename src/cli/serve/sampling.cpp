// What requests mean where they say nothing: how tokens are chosen, and how many.
#include "api/sampling.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "api/answer_fields.h"
#include "base/json.h"
#include "cli/serve/table.h"

namespace puna::cli::serve {
namespace {

using base::ErrorCode;
using base::Result;
using kernels::Bounds;
using kernels::SamplingParams;
using service::Defaults;

// `field` is the default's name in requests.
template <class T>
Flag setting(const std::string& names, std::string_view field, Range<T> range,
             const std::string& help, T& (*of)(Defaults&)) {
  return number<T>(names, range, help, [field, of](ServeFlags& flags, T value) {
    flags.defaults.emplace_back([field, of, value](Defaults& defaults) {
      of(defaults) = value;
      defaults.named.emplace(field);
    });
  });
}

template <float SamplingParams::* kMember>
Flag setting(const std::string& names, std::string_view field, Bounds bounds,
             const std::string& help) {
  return setting<float>(
      names, field, {bounds.lowest, bounds.highest}, help,
      +[](Defaults& defaults) -> float& { return defaults.request.sampling.*kMember; });
}
template <auto kPart, auto kMember, class T>
Flag setting_in(const std::string& names, std::string_view field, Range<T> range,
                const std::string& help) {
  return setting<T>(
      names, field, range, help,
      +[](Defaults& defaults) -> T& { return defaults.request.sampling.*kPart.*kMember; });
}
template <uint32_t SamplingParams::* kMember>
Flag count(const std::string& names, std::string_view field, const std::string& help) {
  return setting<uint32_t>(
      names, field, kCounts, help,
      +[](Defaults& defaults) -> uint32_t& { return defaults.request.sampling.*kMember; });
}

Result<void> set_samplers(ServeFlags& flags, std::vector<kernels::Sampler> samplers) {
  flags.defaults.emplace_back([samplers = std::move(samplers)](Defaults& defaults) {
    defaults.request.sampling.samplers = samplers;
    defaults.named.emplace("samplers");
  });
  return {};
}

Result<void> read_samplers(ServeFlags& flags, std::string_view option, std::string_view value) {
  auto samplers = service::samplers_named(value);
  if (samplers) return set_samplers(flags, *std::move(samplers));
  std::string names;
  for (const kernels::Sampler stage : kernels::usual_samplers())
    names += fmt::format("{}{}", names.empty() ? "" : ";", kernels::name(stage));
  return base::fail(
      ErrorCode::kUsage,
      fmt::format("{} is \"{}\", but stages of {} are expected, each once.", option, value, names));
}

Result<void> read_letters(ServeFlags& flags, std::string_view option, std::string_view value) {
  auto samplers = api::read_samplers(base::Json(value));
  if (samplers) return set_samplers(flags, *std::move(samplers));
  return base::fail(ErrorCode::kUsage,
                    fmt::format("{} is \"{}\", but letters of \"edskypmxt\" are expected, each "
                                "once.",
                                option, value));
}

// "15043+1.5", "15043-inf".
Result<void> read_bias(ServeFlags& flags, std::string_view option, std::string_view value) {
  int32_t id = 0;
  float added = 0;
  const char *begin = value.data(), *end = begin + value.size();
  const auto read_id = std::from_chars(begin, end, id);
  bool fits = read_id.ec == std::errc() && id >= 0 && read_id.ptr != end &&
              (*read_id.ptr == '+' || *read_id.ptr == '-');
  if (fits) {
    const char* from = read_id.ptr + (*read_id.ptr == '+' ? 1 : 0);
    const auto read = std::from_chars(from, end, added);
    fits = read.ec == std::errc() && read.ptr == end && !std::isnan(added) && added != INFINITY;
  }
  if (!fits) {
    return base::fail(ErrorCode::kUsage,
                      fmt::format("{} is \"{}\", but a token id, a sign and a number are expected: "
                                  "15043+1.5 or 15043-inf.",
                                  option, value));
  }
  flags.defaults.emplace_back([id, added](Defaults& defaults) {
    auto& all = defaults.request.sampling.logit_bias;
    std::erase_if(all, [&](const auto& each) { return each.first == id; });
    all.emplace_back(id, added);
    defaults.named.emplace("logit_bias");
  });
  return {};
}

// The first that is named takes the place of the usual ones; "none" is none.
Flag breakers() {
  Flag out =
      value("--dry-sequence-breaker", "TEXT",
            "A text over which no repetition reaches for DRY, in place of the usual ones; may be "
            "given several times; none = none",
            [](ServeFlags& flags, std::string_view, std::string_view text) -> Result<void> {
              flags.defaults.emplace_back([text = std::string(text)](Defaults& defaults) {
                if (defaults.named.emplace("dry_sequence_breakers").second)
                  defaults.dry_breakers.clear();
                if (text != "none") defaults.dry_breakers.push_back(text);
              });
              return {};
            });
  out.repeats = true;
  return out;
}

std::vector<Flag> sampling_rows() {
  std::vector<Flag> out;
  out.push_back(
      with(number<int64_t>("-n,--n-predict", {-1, kCounts.highest},
                           "Tokens of an answer at most, unless a request says so; -1, the "
                           "default: no limit",
                           [](ServeFlags& flags, int64_t n) {
                             flags.defaults.emplace_back([n](Defaults& defaults) {
                               defaults.request.max_tokens = api::number_or_none(n);
                             });
                           }),
           "LLAMA_ARG_N_PREDICT", "--predict"));
  out.push_back(number<int64_t>("-s,--seed", {-1, std::numeric_limits<int64_t>::max()},
                                "Seed of the draws; -1, the default: drawn for each request",
                                [](ServeFlags& flags, int64_t seed) {
                                  flags.defaults.emplace_back([seed](Defaults& defaults) {
                                    defaults.seed.reset();
                                    if (seed >= 0) defaults.seed = static_cast<uint64_t>(seed);
                                  });
                                }));
  out.push_back(
      on_off("--ignore-eos", "Goes on where the model would end", [](ServeFlags& flags, bool on) {
        flags.defaults.emplace_back([on](Defaults& defaults) { defaults.request.ignore_end = on; });
      }));
  Flag stop = value(
      "-r,--reverse-prompt", "TEXT",
      "A text before which answers end where a request names none; may be given several times",
      [](ServeFlags& flags, std::string_view option, std::string_view text) -> Result<void> {
        if (text.size() > api::kMaxStopBytes) {
          return base::fail(ErrorCode::kUsage,
                            fmt::format("{} has {} bytes; {} are the most.", option, text.size(),
                                        api::kMaxStopBytes));
        }
        flags.defaults.emplace_back([text = std::string(text)](Defaults& defaults) {
          defaults.request.stop.push_back(text);
        });
        return {};
      });
  stop.repeats = true;
  out.push_back(std::move(stop));
  out.push_back(with(on_off("--special", "Control tokens are written out in answers",
                            [](ServeFlags& flags, bool on) {
                              flags.defaults.emplace_back(
                                  [on](Defaults& defaults) { defaults.request.special = on; });
                            }),
                     nullptr, "-sp"));
  out.push_back(with(on_off("--cache-prompt,!--no-cache-prompt",
                            "What is known of a prompt is not evaluated again, unless a request "
                            "wants it; the default",
                            [](ServeFlags& flags, bool on) {
                              flags.defaults.emplace_back(
                                  [on](Defaults& defaults) { defaults.request.reuse = on; });
                            }),
                     "LLAMA_ARG_CACHE_PROMPT"));
  out.push_back(with(setting<&SamplingParams::temperature>(
                         "--temp", "temperature", kernels::kTemperature,
                         "Temperature, unless the model says it; 0 = greedy; default: 0.8"),
                     "LLAMA_ARG_TEMPERATURE", "--temperature"));
  out.push_back(
      with(count<&SamplingParams::top_k>(
               "--top-k", "top_k",
               "The k most probable tokens, unless the model says it; 0 = all; default: 40"),
           "LLAMA_ARG_TOP_K"));
  out.push_back(with(setting<&SamplingParams::top_p>(
                         "--top-p", "top_p", kernels::kProbability,
                         "The most probable tokens of this sum, unless the model says it; 1 = all; "
                         "default: 0.95, and 0.9 at /api"),
                     "LLAMA_ARG_TOP_P"));
  out.push_back(
      with(setting<&SamplingParams::min_p>(
               "--min-p", "min_p", kernels::kProbability,
               "Tokens this probable beside the first, unless the model says it; 0 = all; "
               "default: 0.05, and 0 at /api"),
           "LLAMA_ARG_MIN_P"));
  Flag sigma =
      number<float>("--top-n-sigma", {-1, kernels::kSigmas.highest},
                    "Tokens within so many deviations of the first; up to 0, the default: all",
                    [](ServeFlags& flags, float n) {
                      flags.defaults.emplace_back([n](Defaults& defaults) {
                        defaults.request.sampling.top_n_sigma = std::max(n, 0.0f);
                        defaults.named.emplace("top_n_sigma");
                      });
                    });
  out.push_back(with(std::move(sigma), nullptr, "--top-nsigma"));
  out.push_back(with(setting<&SamplingParams::typical_p>(
                         "--typical", "typical_p", kernels::kProbability,
                         "Locally typical tokens of this sum; 1, the default: all"),
                     nullptr, "--typical-p"));
  out.push_back(setting<&SamplingParams::xtc_probability>(
      "--xtc-probability", "xtc_probability", kernels::kProbability,
      "How often top choices go; 0, the default: never"));
  out.push_back(setting<&SamplingParams::xtc_threshold>(
      "--xtc-threshold", "xtc_threshold", kernels::kProbability,
      "How probable a top choice is; default: 0.1"));
  out.push_back(count<&SamplingParams::repeat_last>(
      "--repeat-last-n", "repeat_last_n", "Tokens that the penalties look back; default: 64"));
  out.push_back(with(setting<&SamplingParams::repeat_penalty>(
                         "--repeat-penalty", "repeat_penalty", kernels::kRepeatPenalty,
                         "Divides repeated tokens; 1, the default: off"),
                     "LLAMA_ARG_REPEAT_PENALTY"));
  out.push_back(with(setting<&SamplingParams::presence_penalty>(
                         "--presence-penalty", "presence_penalty", kernels::kPenalty,
                         "Lowers tokens that were there; 0, the default: off"),
                     "LLAMA_ARG_PRESENCE_PENALTY"));
  out.push_back(with(setting<&SamplingParams::frequency_penalty>(
                         "--frequency-penalty", "frequency_penalty", kernels::kPenalty,
                         "Lowers tokens as often as they were there; 0, the default: off"),
                     "LLAMA_ARG_FREQUENCY_PENALTY"));
  constexpr auto kDry = &SamplingParams::dry;
  out.push_back(setting_in<kDry, &kernels::DryParams::multiplier, float>(
      "--dry-multiplier", "dry_multiplier",
      {kernels::kDryMultiplier.lowest, kernels::kDryMultiplier.highest},
      "Strength of DRY; 0, the default: off"));
  out.push_back(setting_in<kDry, &kernels::DryParams::base, float>(
      "--dry-base", "dry_base", {kernels::kDryBase.lowest, kernels::kDryBase.highest},
      "DRY grows by this with each token of a repetition; default: 1.75"));
  out.push_back(setting_in<kDry, &kernels::DryParams::allowed_length, uint32_t>(
      "--dry-allowed-length", "dry_allowed_length", kCounts,
      "Repetitions up to this length cost nothing; default: 2"));
  out.push_back(setting_in<kDry, &kernels::DryParams::last, uint32_t>(
      "--dry-penalty-last-n", "dry_penalty_last_n", kCounts,
      "Tokens that DRY looks back; default: 64"));
  out.push_back(breakers());
  out.push_back(setting<&SamplingParams::dynatemp_range>(
      "--dynatemp-range", "dynatemp_range", kernels::kTemperature,
      "The temperature moves by so much with the entropy; 0, the default: off"));
  out.push_back(setting<&SamplingParams::dynatemp_exponent>(
      "--dynatemp-exp", "dynatemp_exponent", kernels::kExponent,
      "How the entropy becomes a temperature; default: 1"));
  constexpr auto kMirostat = &SamplingParams::mirostat;
  out.push_back(setting_in<kMirostat, &kernels::MirostatParams::version, uint32_t>(
      "--mirostat", "mirostat", {0, 2},
      "Version of Mirostat in place of the stages before the temperature; 0, the default: off"));
  out.push_back(setting_in<kMirostat, &kernels::MirostatParams::eta, float>(
      "--mirostat-lr", "mirostat_eta", {kernels::kEta.lowest, kernels::kEta.highest},
      "How fast Mirostat gets there; default: 0.1"));
  out.push_back(setting_in<kMirostat, &kernels::MirostatParams::tau, float>(
      "--mirostat-ent", "mirostat_tau", {kernels::kTau.lowest, kernels::kTau.highest},
      "Bits of surprise that Mirostat aims at; default: 5"));
  out.push_back(value("--samplers", "TEXT", "The stages in their order, separated by semicolons",
                      read_samplers));
  out.push_back(
      with(value("--sampler-seq", "TEXT", "The same, as letters of edskypmxt", read_letters),
           nullptr, "--sampling-seq"));
  Flag bias = value("-l,--logit-bias", "TEXT",
                    "15043+1.5 adds 1.5 to the logit of token 15043, 15043-inf forbids it; may be "
                    "given several times",
                    read_bias);
  bias.repeats = true;
  out.push_back(std::move(bias));
  out.push_back(on_off("--spm-infill", "/infill gives the model the suffix before the prefix",
                       [](ServeFlags& flags, bool on) {
                         flags.defaults.emplace_back(
                             [on](Defaults& defaults) { defaults.suffix_first = on; });
                       }));
  out.push_back(number<int>(
      "--embd-normalize", {-1, 64},
      "Norm by which embeddings are divided; -1 = none, 0 = the largest value; default: 2",
      [](ServeFlags& flags, int n) {
        flags.defaults.emplace_back([n](Defaults& defaults) { defaults.embedding_norm = n; });
      }));
  return out;
}

}  // namespace

std::span<const Flag> sampling_flags() {
  static const std::vector<Flag> kRows = sampling_rows();
  return kRows;
}

}  // namespace puna::cli::serve
