// How config.json says that rotary positions turn and are stretched, as GGUF's keys and tensors.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "formats/hf/families.h"

namespace puna::formats::hf {

using base::ErrorCode;
using base::Json;
using base::Result;

namespace {

// YaRN's magnitude of a stretch (Peng et al. 2023, section 3.4), times a model's multiplier.
double magnitude(double factor, double multiplier) {
  return factor <= 1 ? 1.0 : 0.1 * multiplier * std::log(factor) + 1.0;
}

Result<double> positive(const Config& rope, std::string_view key, double otherwise) {
  PUNA_TRY(const double v, rope.real(key, otherwise));
  if (v > 0) return v;
  return base::fail(ErrorCode::kCorrupt,
                    fmt::format("The key \"{}\" of the rope parameters is {}, but a positive "
                                "number is expected.",
                                key, v));
}

// By how much positions are stretched; 0 stands for not at all.
Result<double> stretch(const Config& rope, double otherwise) {
  PUNA_TRY(const double v, rope.real("factor", otherwise));
  return v == 0 ? 1.0 : positive(rope, "factor", otherwise);
}

constexpr std::string_view kOriginalContext = "original_max_position_embeddings";

bool has_original_context(const Mapping& m, const Config& rope) {
  return rope.has(kOriginalContext) || m.config().has(kOriginalContext);
}

Result<uint64_t> original_context(const Mapping& m, const Config& rope) {
  if (rope.has(kOriginalContext)) return rope.count(kOriginalContext);
  if (m.config().has(kOriginalContext)) return m.config().count(kOriginalContext);
  return m.config().count("max_position_embeddings");
}

// What the context grew by; 1 where a file does not say.
Result<double> context_ratio(const Mapping& m, const Config& rope) {
  PUNA_TRY(const uint64_t original, original_context(m, rope));
  PUNA_TRY(const uint64_t context, m.config().count("max_position_embeddings"));
  return original == 0 ? 1.0 : static_cast<double>(context) / static_cast<double>(original);
}

Result<void> put_yarn(Mapping& m, const Config& rope) {
  PUNA_TRY(const double ratio, context_ratio(m, rope));
  PUNA_TRY(const double factor, stretch(rope, ratio));
  PUNA_TRY(const uint64_t original, original_context(m, rope));
  m.set("rope.scaling.type", std::string("yarn"));
  m.set("rope.scaling.factor", factor);
  m.set("rope.scaling.original_context_length", original);
  if (rope.has("beta_fast")) {
    PUNA_TRY(const double beta, positive(rope, "beta_fast", 32.0));
    m.set("rope.scaling.yarn_beta_fast", beta);
  }
  if (rope.has("beta_slow")) {
    PUNA_TRY(const double beta, positive(rope, "beta_slow", 1.0));
    m.set("rope.scaling.yarn_beta_slow", beta);
  }
  // Only gpt-oss has a ramp that does not end at whole pairs; GGUF has no key for it.
  const bool truncates = m.architecture() != "gpt-oss";
  PUNA_TRY(const bool truncate, rope.flag("truncate", true));
  if (truncate != truncates) {
    return base::fail(ErrorCode::kUnsupported,
                      fmt::format("The rope parameter \"truncate\" is {}, which models of the "
                                  "architecture {} have not.",
                                  truncate, m.architecture()));
  }
  PUNA_TRY(const double mscale, rope.real("mscale", 0.0));
  PUNA_TRY(const double mscale_all, rope.real("mscale_all_dim", 0.0));
  if (m.architecture() == "deepseek2") {
    // There the magnitude is on scores as a whole; the key then holds a tenth of the multiplier.
    if (mscale != mscale_all) {
      return base::fail(ErrorCode::kUnsupported,
                        fmt::format("The rope parameters \"mscale\" ({}) and \"mscale_all_dim\" "
                                    "({}) differ, which is not supported.",
                                    mscale, mscale_all));
    }
    if (mscale_all != 0) m.set("rope.scaling.yarn_log_multiplier", 0.1 * mscale_all);
    return {};
  }
  // The whole magnitude is that of the factor, times attn_factor, by that of the log multiplier.
  if (rope.has("attention_factor")) {
    PUNA_TRY(const double whole, positive(rope, "attention_factor", 1.0));
    m.set("rope.scaling.attn_factor", whole / magnitude(factor, 1.0));
  } else if (mscale != 0 && mscale_all != 0) {
    m.set("rope.scaling.yarn_log_multiplier", mscale_all);
    if (mscale != 1)
      m.set("rope.scaling.attn_factor", magnitude(factor, mscale) / magnitude(factor, 1.0));
  }
  return {};
}

// Llama 3: frequencies are divided by nothing for short waves, by the factor for long ones, by a
// blend between (Llama 3.1 model card).
Result<void> put_llama3(Mapping& m, const Config& rope, double base, uint64_t n_rot) {
  PUNA_TRY(const double factor, positive(rope, "factor", 8.0));
  PUNA_TRY(const double low, positive(rope, "low_freq_factor", 1.0));
  PUNA_TRY(const double high, positive(rope, "high_freq_factor", 4.0));
  PUNA_TRY(const uint64_t original, original_context(m, rope));
  std::vector<float> factors;
  for (uint64_t i = 0; i + 1 < n_rot; i += 2) {
    const double wave =
        2 * M_PI * std::pow(base, static_cast<double>(i) / static_cast<double>(n_rot));
    const double share = (static_cast<double>(original) / wave - low) / (high - low);
    const double blend = std::clamp(share, 0.0, 1.0);
    factors.push_back(static_cast<float>(1 / ((1 - blend) / factor + blend)));
  }
  m.put_values("rope_freqs.weight", std::move(factors));
  return {};
}

// LongRoPE (Ding et al. 2024): a list of divisors for short texts and one for long ones.
Result<void> put_longrope(Mapping& m, const Config& rope, uint64_t n_rot) {
  PUNA_TRY(const uint64_t original, original_context(m, rope));
  if (original < 2) {
    return base::fail(ErrorCode::kCorrupt,
                      fmt::format("The original context of LongRoPE is {} tokens.", original));
  }
  PUNA_TRY(double by, context_ratio(m, rope));
  if (!has_original_context(m, rope)) {
    PUNA_TRY(by, stretch(rope, 1.0));
  }
  double whole =
      by <= 1 ? 1.0 : std::sqrt(1 + std::log(by) / std::log(static_cast<double>(original)));
  PUNA_TRY(whole, positive(rope, "attention_factor", whole));
  if (rope.has("short_mscale") || rope.has("long_mscale")) {
    PUNA_TRY(whole, positive(rope, "short_mscale", whole));
    PUNA_TRY(const double long_whole, positive(rope, "long_mscale", whole));
    if (long_whole != whole) {
      return base::fail(ErrorCode::kUnsupported,
                        fmt::format("The rope parameters \"short_mscale\" ({}) and "
                                    "\"long_mscale\" ({}) differ, which is not supported.",
                                    whole, long_whole));
    }
  }
  m.set("rope.scaling.type", std::string("longrope"));
  m.set("rope.scaling.original_context_length", original);
  m.set("rope.scaling.attn_factor", whole);
  for (const char* kind : {"long", "short"}) {
    PUNA_TRY(const std::vector<double> factors, rope.reals(fmt::format("{}_factor", kind)));
    if (factors.size() != n_rot / 2) {
      return base::fail(ErrorCode::kCorrupt,
                        fmt::format("The rope parameter \"{}_factor\" lists {} numbers, but {} are "
                                    "expected.",
                                    kind, factors.size(), n_rot / 2));
    }
    m.put_values(fmt::format("rope_factors_{}.weight", kind),
                 std::vector<float>(factors.begin(), factors.end()));
  }
  return {};
}

// Hunyuan's stretch by a fixed alpha makes the base larger, once and for all. What config.json says
// of the context is then too small.
Result<void> put_fixed_stretch(Mapping& m, const Config& rope, double base) {
  constexpr uint64_t kContext = 256 * 1024, kTooSmall = 32 * 1024;
  PUNA_TRY(const double alpha, positive(rope, "alpha", 1.0));
  const auto n = static_cast<double>(m.head_dim);
  if (n <= 2) {
    return base::fail(ErrorCode::kCorrupt,
                      fmt::format("config.json gives heads of {} elements.", m.head_dim));
  }
  m.set("rope.freq_base", base * std::pow(alpha, n / (n - 2)));
  m.set("rope.scaling.type", std::string("none"));
  PUNA_TRY(const uint64_t context, m.config().count("max_position_embeddings"));
  if (context == kTooSmall) m.set("context_length", kContext);
  return {};
}

}  // namespace

Result<Config> rope_parameters(const Mapping& m, std::string_view layers) {
  const Config& config = m.config();
  Json rope = Json::object();
  if (config.has("rope_theta")) rope.set("rope_theta", *config.find("rope_theta"));
  if (config.has("partial_rotary_factor"))
    rope.set("partial_rotary_factor", *config.find("partial_rotary_factor"));
  for (const char* key : {"rope_scaling", "rope_parameters"}) {
    const Json* found = config.find(key);
    if (!found) continue;
    if (!found->is_object()) {
      return base::fail(ErrorCode::kCorrupt,
                        fmt::format("The key \"{}\" of config.json is {}, not an object.", key,
                                    found->type_name()));
    }
    const Json* of_layers = found->find(layers);
    if (of_layers && of_layers->is_object()) found = of_layers;
    for (const auto& [name, value] : found->members())
      rope.set(name == "type" ? "rope_type" : name, value);
  }
  return Config(std::move(rope));
}

Result<void> put_rope(Mapping& m) {
  PUNA_TRY(const Config rope, rope_parameters(m, "full_attention"));
  PUNA_TRY(const double base, positive(rope, "rope_theta", 10000.0));
  m.set("rope.freq_base", base);
  PUNA_TRY(const double part, positive(rope, "partial_rotary_factor", 1.0));
  uint64_t n_rot = static_cast<uint64_t>(static_cast<double>(m.head_dim) * std::min(part, 1.0));
  if (m.config().has("qk_rope_head_dim")) {
    PUNA_TRY(n_rot, m.config().count("qk_rope_head_dim"));
    n_rot = std::min(n_rot, m.hidden);  // lists of its size are made
  }
  if (n_rot > 0) m.set("rope.dimension_count", n_rot);
  // A factor without a type is linear.
  PUNA_TRY(const std::string type,
           rope.text("rope_type", rope.has("factor") ? "linear" : "default"));
  if (type == "default" || type == "mrope") return {};
  if (type == "linear") {
    PUNA_TRY(const double factor, stretch(rope, 1.0));
    m.set("rope.scaling.type", std::string("linear"));
    m.set("rope.scaling.factor", factor);
    return {};
  }
  const auto is_one_of = [&](std::initializer_list<std::string_view> names) {
    return std::ranges::find(names, m.architecture()) != names.end();
  };
  if (type == "yarn") return put_yarn(m, rope);
  if (type == "dynamic" && rope.has("alpha") && is_one_of({"hunyuan-dense", "hunyuan-moe"}))
    return put_fixed_stretch(m, rope, base);
  if (type == "llama3" && is_one_of({"apertus", "arcee", "exaone4", "llama", "llama4"}))
    return put_llama3(m, rope, base, n_rot);
  if ((type == "longrope" || type == "su") && is_one_of({"minicpm", "minicpm3", "phi3", "phimoe"}))
    return put_longrope(m, rope, n_rot);
  return base::fail(
      ErrorCode::kUnsupported,
      fmt::format("The rope type \"{}\" is not supported for the architecture {} (supported: "
                  "default, linear, yarn; llama3 for llama and its kin; longrope for phi3, phimoe "
                  "and minicpm and its kin).",
                  type, m.architecture()));
}

}  // namespace puna::formats::hf
