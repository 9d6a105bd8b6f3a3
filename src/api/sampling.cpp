#include "api/sampling.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <random>
#include <unordered_map>

namespace puna::api {

using base::Json;
using base::Result;
using kernels::SamplingParams;

namespace {

using Kind = Field::Kind;
using Effect = Field::Effect;

constexpr double kCounts = UINT32_MAX;
// In the order of kernels::Sampler.
constexpr std::string_view kLetters = "edskypmxt";

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
    Field{"dry_sequence_breakers", Kind::kTexts, "Texts over which no repetition reaches for DRY."}
        .or_else(R"(["\n", ":", "\"", "*"])"),
    count("mirostat", "Version of Mirostat in place of the stages before the temperature; 0 = off.",
          2),
    number("mirostat_tau", kernels::kTau, "Bits of surprise that Mirostat aims at."),
    number("mirostat_eta", kernels::kEta, "How fast Mirostat gets there."),
    {"seed", Kind::kInteger, "Of the draws; -1 and none: drawn."},
    Field{"logit_bias", Kind::kAny,
          "{\"id or text\": added, …} or [[id or text, added], …]; false in place of a number: "
          "never."}
        .shaped(R"([{"*": "number|boolean"}, [["number|string|boolean"]]])"),
    Field{"samplers", Kind::kAny,
          "The stages in their order, by names or as letters of \"edskypmxt\"."}
        .shaped(R"(["string", ["string"]])"),
    count("n_probs", "The probabilities of so many of the most probable tokens; 0 = none.",
          kernels::kMaxProbs),
    {.name = "min_keep",
     .about = "the stages of sampling keep what their definitions say; 0 is possible.",
     .effect = Effect::kRefused,
     .harmless = "0"},
    {.name = "adaptive_target",
     .about = "there is no such stage of sampling; -1 is possible.",
     .effect = Effect::kRefused,
     .harmless = "-1"},
    {.name = "adaptive_decay",
     .about = "Of a stage of sampling that there is not.",
     .effect = Effect::kNone},
    {.name = "post_sampling_probs",
     .about = "probabilities are those of the model, before any stage.",
     .effect = Effect::kRefused,
     .harmless = "false"},
    {.name = "backend_sampling",
     .about = "The device chooses tokens wherever it can.",
     .effect = Effect::kNone},
};

// Both parts as one table, with what holds where they are not given.
struct AllFields {
  std::vector<Field> rows;
  std::vector<std::string> initials;

  AllFields() {
    for (const NumberField& each : kNumbers) rows.push_back(each.field);
    rows.insert(rows.end(), std::begin(kOthers), std::end(kOthers));
    const Json defaults = sampling_json({});
    initials.reserve(rows.size());  // rows refer to them
    for (Field& row : rows) {
      const Json* initial = row.name == "seed" ? nullptr : defaults.find(row.name);
      if (initial && row.initial.empty()) row.initial = initials.emplace_back(initial->dump());
    }
  }
};

// The ids of a text inside of others.
Result<std::vector<int32_t>> ids_of(std::string_view field, const std::string& text,
                                    const service::LoadedModel& model) {
  PUNA_TRY_CONTEXT(const tokenizer::Tokenizer* tokenizer, service::tokenizer_of(model),
                   fmt::format("While reading texts of the field \"{}\"", field));
  return tokenizer->encode(text, {.add_special = false, .parse_special = false});
}

std::optional<int32_t> id_of(const std::string& text) {
  int32_t id = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id);
  if (error != std::errc() || end != text.data() + text.size() || id < 0) return {};
  return id;
}

class LogitBias {
 public:
  LogitBias(const Json& value, const service::LoadedModel& model) : value_(value), model_(model) {}

  Result<std::vector<std::pair<int32_t, float>>> read() {
    const size_t n = value_.is_object()  ? value_.members().size()
                     : value_.is_array() ? value_.items().size()
                                         : 0;
    if (n > kernels::kMaxLogitBias) return too_many(n);
    if (value_.is_object()) {
      for (const auto& [key, bias] : value_.members()) {
        if (const auto id = id_of(key)) {
          PUNA_TRY(add(*id, bias));
        } else {
          PUNA_TRY(add_text(key, bias));
        }
      }
      return std::move(out_);
    }
    if (!value_.is_array()) return wrong();
    for (const Json& pair : value_.items()) {
      if (!pair.is_array() || pair.items().size() != 2) return wrong();
      const Json& token = pair.items()[0];
      const Json& bias = pair.items()[1];
      if (token.is_string()) {
        PUNA_TRY(add_text(token.string(), bias));
      } else if (token.is_integer() && token.integer() >= 0 && token.integer() <= INT32_MAX) {
        PUNA_TRY(add(static_cast<int32_t>(token.integer()), bias));
      } else {
        return wrong();
      }
    }
    return std::move(out_);
  }

 private:
  std::unexpected<base::Error> wrong() const {
    return refuse_field("logit_bias", value_,
                        "an object of tokens (ids or texts) and what is added (a number, or false "
                        "for never), or a list of such pairs, each token once");
  }
  static std::unexpected<base::Error> too_many(size_t n) {
    return base::fail(
        base::ErrorCode::kInvalidArgument,
        fmt::format(
            "The field \"logit_bias\" is of {} tokens or texts, but at most {} are possible.", n,
            kernels::kMaxLogitBias));
  }
  Result<void> add(int32_t id, const Json& bias) {
    const bool never = bias == Json(false);
    if (!bias.is_number() && !never) return wrong();
    const float added = never ? -INFINITY : static_cast<float>(bias.number());
    const auto [known, is_new] = known_.emplace(id, added);
    if (!is_new) return known->second == added ? Result<void>() : wrong();
    out_.emplace_back(id, added);
    return out_.size() > kernels::kMaxLogitBias ? too_many(out_.size()) : Result<void>();
  }
  // All tokens of the text.
  Result<void> add_text(const std::string& text, const Json& bias) {
    PUNA_TRY(const std::vector<int32_t> ids, ids_of("logit_bias", text, model_));
    for (const int32_t id : ids) PUNA_TRY(add(id, bias));
    return {};
  }

  const Json& value_;
  const service::LoadedModel& model_;
  std::vector<std::pair<int32_t, float>> out_;
  std::unordered_map<int32_t, float> known_;  // the same by their ids
};

// Breakers as they stand in a text: the tokens that the tokenizer makes of each, and the one token
// that is all of it, which differs where tokenizers put a space in front of texts.
Result<std::vector<std::vector<int32_t>>> read_breakers(const std::vector<std::string>& texts,
                                                        const service::LoadedModel& model) {
  std::vector<std::vector<int32_t>> out;
  const auto add = [&](std::vector<int32_t> ids) {
    if (!ids.empty() && std::ranges::find(out, ids) == out.end()) out.push_back(std::move(ids));
  };
  if (texts.empty()) return out;
  if (texts.size() > kernels::kMaxDryBreakers) {
    return base::fail(
        base::ErrorCode::kInvalidArgument,
        fmt::format("The field \"dry_sequence_breakers\" has {} texts, but at most {} "
                    "are possible.",
                    texts.size(), kernels::kMaxDryBreakers));
  }
  for (const std::string& text : texts) {
    PUNA_TRY(std::vector<int32_t> ids, ids_of("dry_sequence_breakers", text, model));
    add(std::move(ids));
  }
  const tokenizer::Tokenizer& tokenizer = *model.tokenizer;
  if (!tokenizer.adds_space()) return out;
  for (int32_t id = 0; id < tokenizer.n_tokens(); ++id) {
    if (std::ranges::find(texts, tokenizer.bytes(id)) != texts.end()) add({id});
  }
  return out;
}

}  // namespace

Result<std::vector<kernels::Sampler>> read_samplers(const Json& value) {
  const auto wrong = [&] {
    return refuse_field("samplers", value,
                        "a list of stages (\"top_k\", \"temperature\", …), each once, or letters "
                        "of \"edskypmxt\"");
  };
  std::vector<kernels::Sampler> out;
  const auto add = [&](std::optional<kernels::Sampler> stage) {
    if (!stage || std::ranges::find(out, *stage) != out.end()) return false;
    out.push_back(*stage);
    return true;
  };
  if (value.is_string()) {
    for (const char c : value.string()) {
      const size_t at = kLetters.find(c);
      if (at == std::string_view::npos || !add(static_cast<kernels::Sampler>(at))) return wrong();
    }
    return out;
  }
  if (!value.is_array()) return wrong();
  for (const Json& name : value.items()) {
    if (!name.is_string() || !add(kernels::sampler_named(name.string()))) return wrong();
  }
  return out;
}

namespace {

// A float as the number that it was read from: 0.1, not 0.10000000149.
Json shortest(float value) {
  // The standard library of Emscripten reads no reals from text.
  const auto read = Json::parse(fmt::format("{}", value));
  return read && read->is_number() ? read->number() : double{value};
}

template <class T, class U>
void take(const std::optional<U>& value, T& to) {
  if (value) to = static_cast<T>(*value);
}

}  // namespace

std::span<const Field> sampling_fields() {
  static const AllFields kAll;
  return kAll.rows;
}

Result<SamplingParams> read_sampling(const Body& body, const service::LoadedModel& model) {
  const service::Defaults& defaults = model.defaults;
  SamplingParams out = defaults.request.sampling;
  for (const NumberField& each : kNumbers) take(body.number(each.field.name), out.*each.value);
  take(body.integer("top_k"), out.top_k);
  if (const auto sigmas = body.number("top_n_sigma"))
    out.top_n_sigma = std::max(static_cast<float>(*sigmas), 0.0f);
  take(body.integer("repeat_last_n"), out.repeat_last);
  take(body.number("dry_multiplier"), out.dry.multiplier);
  take(body.number("dry_base"), out.dry.base);
  take(body.integer("dry_allowed_length"), out.dry.allowed_length);
  take(body.integer("dry_penalty_last_n"), out.dry.last);
  if (body.has("dry_sequence_breakers")) {
    PUNA_TRY(out.dry.breakers, read_breakers(body.texts("dry_sequence_breakers"), model));
  } else if (out.dry.multiplier > 0 && model.tokenizer) {
    PUNA_TRY(out.dry.breakers, read_breakers(defaults.dry_breakers, model));
  }
  take(body.integer("mirostat"), out.mirostat.version);
  take(body.number("mirostat_tau"), out.mirostat.tau);
  take(body.number("mirostat_eta"), out.mirostat.eta);
  out.seed = defaults.seed ? *defaults.seed : std::random_device()();
  if (const auto seed = body.integer("seed"))
    out.seed = *seed != -1 ? static_cast<uint64_t>(*seed) : std::random_device()();
  take(body.integer("n_probs"), out.n_probs);
  if (const Json* bias = body.find("logit_bias")) {
    PUNA_TRY(out.logit_bias, LogitBias(*bias, model).read());
  }
  if (const Json* samplers = body.find("samplers")) {
    PUNA_TRY(out.samplers, read_samplers(*samplers));
  }
  PUNA_TRY(model.engine->check_sampling(out));
  return out;
}

Json sampling_json(const SamplingParams& params) {
  Json out = Json::object();
  out.set("seed", static_cast<int64_t>(params.seed)).set("top_k", params.top_k);
  for (const NumberField& each : kNumbers)
    out.set(std::string(each.field.name), shortest(params.*each.value));
  out.set("top_n_sigma", params.top_n_sigma > 0 ? shortest(params.top_n_sigma) : Json(-1));
  out.set("repeat_last_n", params.repeat_last);
  out.set("dry_multiplier", shortest(params.dry.multiplier));
  out.set("dry_base", shortest(params.dry.base));
  out.set("dry_allowed_length", params.dry.allowed_length);
  out.set("dry_penalty_last_n", params.dry.last);
  out.set("mirostat", params.mirostat.version).set("mirostat_tau", shortest(params.mirostat.tau));
  out.set("mirostat_eta", shortest(params.mirostat.eta)).set("n_probs", params.n_probs);
  Json bias = Json::array();
  for (const auto& [id, added] : params.logit_bias) {
    Json one = Json::object();
    bias.push(one.set("token", id).set("bias", std::isinf(added) ? Json() : shortest(added)));
  }
  out.set("logit_bias", std::move(bias));
  Json samplers = Json::array();
  for (const kernels::Sampler stage : params.samplers) samplers.push(kernels::name(stage));
  return out.set("samplers", std::move(samplers));
}

}  // namespace puna::api
