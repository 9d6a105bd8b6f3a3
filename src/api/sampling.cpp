#include "api/sampling.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <random>

namespace puna::api {

using base::Json;
using base::Result;
using kernels::SamplingParams;

namespace {

using Kind = Field::Kind;
using Effect = Field::Effect;

constexpr double kCounts = UINT32_MAX;

constexpr Field number(std::string_view name, kernels::Bounds bounds, std::string_view about) {
  return {name, Kind::kNumber, about, bounds.lowest, bounds.highest};
}
constexpr Field count(std::string_view name, std::string_view about, double most = kCounts) {
  return {name, Kind::kInteger, about, 0, most};
}

// The names of the fields and what they set.
struct NumberField {
  Field field;
  float SamplingParams::* value;
};
constexpr NumberField kNumbers[] = {
    {number("temperature", kernels::kTemperature, "How freely tokens are drawn; 0 = greedy."),
     &SamplingParams::temperature},
    {number("dynatemp_range", kernels::kTemperature,
            "The temperature moves by so much with the entropy; 0 = off."),
     &SamplingParams::dynatemp_range},
    {number("dynatemp_exponent", kernels::kExponent, "How the entropy becomes a temperature."),
     &SamplingParams::dynatemp_exponent},
    {number("top_p", kernels::kProbability, "The most probable tokens of this sum; 1 = off."),
     &SamplingParams::top_p},
    {number("min_p", kernels::kProbability, "Tokens this probable beside the first; 0 = off."),
     &SamplingParams::min_p},
    {number("typical_p", kernels::kProbability, "Locally typical tokens of this sum; 1 = off."),
     &SamplingParams::typical_p},
    {number("xtc_probability", kernels::kProbability, "How often top choices go; 0 = off."),
     &SamplingParams::xtc_probability},
    {number("xtc_threshold", kernels::kProbability, "How probable a top choice is."),
     &SamplingParams::xtc_threshold},
    {number("repeat_penalty", kernels::kRepeatPenalty, "Divides repeated tokens; 1 = off."),
     &SamplingParams::repeat_penalty},
    {number("presence_penalty", kernels::kPenalty, "Lowers tokens that were there; 0 = off."),
     &SamplingParams::presence_penalty},
    {number("frequency_penalty", kernels::kPenalty, "Lowers tokens as often as they were there."),
     &SamplingParams::frequency_penalty},
};

constexpr Field kOthers[] = {
    count("top_k", "So many of the most probable tokens; 0 = off."),
    {"top_n_sigma", Kind::kNumber, "Tokens within so many deviations of the first; up to 0 = off.",
     -1, kernels::kSigmas.highest},
    count("repeat_last_n", "Tokens that the penalties look back; 0 = none."),
    number("dry_multiplier", kernels::kDryMultiplier, "Strength of DRY; 0 = off."),
    number("dry_base", kernels::kDryBase, "DRY grows by this with each token of a repetition."),
    count("dry_allowed_length", "Repetitions up to this length cost nothing."),
    count("dry_penalty_last_n", "Tokens that DRY looks back; 0 = none."),
    {.name = "dry_sequence_breakers",
     .about = "texts that end a repetition cannot be given yet.",
     .effect = Effect::kRefused,
     .harmless = "[]"},
    count("mirostat", "Version of Mirostat in place of the stages before the temperature; 0 = off.",
          2),
    number("mirostat_tau", kernels::kTau, "Bits of surprise that Mirostat aims at."),
    number("mirostat_eta", kernels::kEta, "How fast Mirostat gets there."),
    {"seed", Kind::kInteger, "Of the draws; -1 and none: drawn."},
    {"logit_bias", Kind::kAny, "{\"id\": added, …} or [[id, added or false], …]."},
    {"samplers", Kind::kAny, "The stages in their order, by names or as letters of \"edskypmxt\"."},
    {.name = "n_probs",
     .about = "probabilities are not given out yet.",
     .effect = Effect::kRefused,
     .harmless = "0"},
};

// Both parts as one table.
std::vector<Field> all_fields() {
  std::vector<Field> out;
  for (const NumberField& each : kNumbers) out.push_back(each.field);
  out.insert(out.end(), std::begin(kOthers), std::end(kOthers));
  return out;
}

std::optional<int32_t> id_of(const Json& value) {
  if (value.is_integer() && value.integer() >= 0 && value.integer() <= INT32_MAX)
    return static_cast<int32_t>(value.integer());
  if (!value.is_string()) return {};
  const std::string& text = value.string();
  int32_t id = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id);
  if (error != std::errc() || end != text.data() + text.size() || id < 0) return {};
  return id;
}

Result<void> read_logit_bias(const Json& value, SamplingParams& out) {
  const auto wrong = [&] {
    return refuse_field("logit_bias", value,
                        "an object of token ids and numbers, or a list of such pairs");
  };
  const auto add = [&](const Json& token, const Json& bias) {
    const auto id = id_of(token);
    const bool never = bias == Json(false);
    if (!id || (!bias.is_number() && !never)) return false;
    const float added = never ? -INFINITY : static_cast<float>(bias.number());
    const auto known = std::ranges::find(out.logit_bias, *id, &std::pair<int32_t, float>::first);
    if (known != out.logit_bias.end()) return false;
    out.logit_bias.emplace_back(*id, added);
    return true;
  };
  if (value.is_object()) {
    for (const auto& [key, bias] : value.members()) {
      if (!add(Json(key), bias)) return wrong();
    }
    return {};
  }
  if (!value.is_array()) return wrong();
  for (const Json& pair : value.items()) {
    if (!pair.is_array() || pair.items().size() != 2 || !add(pair.items()[0], pair.items()[1]))
      return wrong();
  }
  return {};
}

Result<void> read_samplers(const Json& value, SamplingParams& out) {
  // In the order of kernels::Sampler.
  constexpr std::string_view kLetters = "edskypmxt";
  const auto wrong = [&] {
    return refuse_field("samplers", value,
                        "a list of stages (\"top_k\", \"temperature\", …), each once, or letters "
                        "of \"edskypmxt\"");
  };
  out.samplers.clear();
  const auto add = [&](std::optional<kernels::Sampler> stage) {
    if (!stage || out.has(*stage)) return false;
    out.samplers.push_back(*stage);
    return true;
  };
  if (value.is_string()) {
    for (const char c : value.string()) {
      const size_t at = kLetters.find(c);
      if (at == std::string_view::npos || !add(static_cast<kernels::Sampler>(at))) return wrong();
    }
    return {};
  }
  if (!value.is_array()) return wrong();
  for (const Json& name : value.items()) {
    if (!name.is_string() || !add(kernels::sampler_named(name.string()))) return wrong();
  }
  return {};
}

template <class T, class U>
void take(const std::optional<U>& value, T& to) {
  if (value) to = static_cast<T>(*value);
}

}  // namespace

std::span<const Field> sampling_fields() {
  static const std::vector<Field> fields = all_fields();
  return fields;
}

Result<SamplingParams> read_sampling(const Body& body) {
  SamplingParams out;
  for (const NumberField& each : kNumbers) take(body.number(each.field.name), out.*each.value);
  take(body.integer("top_k"), out.top_k);
  if (const auto sigmas = body.number("top_n_sigma"))
    out.top_n_sigma = std::max(static_cast<float>(*sigmas), 0.0f);
  take(body.integer("repeat_last_n"), out.repeat_last);
  take(body.number("dry_multiplier"), out.dry.multiplier);
  take(body.number("dry_base"), out.dry.base);
  take(body.integer("dry_allowed_length"), out.dry.allowed_length);
  take(body.integer("dry_penalty_last_n"), out.dry.last);
  take(body.integer("mirostat"), out.mirostat.version);
  take(body.number("mirostat_tau"), out.mirostat.tau);
  take(body.number("mirostat_eta"), out.mirostat.eta);
  const auto seed = body.integer("seed");
  out.seed = seed && *seed != -1 ? static_cast<uint64_t>(*seed) : std::random_device()();
  if (const Json* bias = body.find("logit_bias")) PUNA_TRY(read_logit_bias(*bias, out));
  if (const Json* samplers = body.find("samplers")) PUNA_TRY(read_samplers(*samplers, out));
  PUNA_TRY(kernels::check(out));
  return out;
}

}  // namespace puna::api
