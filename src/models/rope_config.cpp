// How a file says that rotary positions are stretched beyond the original context: "linear",
// "yarn", or "longrope", whose factors are tensors.

#include <fmt/format.h>

#include <cmath>

#include "models/models.h"

namespace puna::models {

using base::ErrorCode;
using base::Result;

namespace {

// YaRN's magnitude of a stretch (Peng et al. 2023, section 3.4), times a model's multiplier.
double magnitude(double factor, double multiplier) {
  return factor <= 1 ? 1.0 : 0.1 * multiplier * std::log(factor) + 1.0;
}

Result<void> read_yarn(const formats::ModelFile& file, const std::string& p, double factor,
                       Config& c) {
  if (c.original_context == 0) {
    return base::fail(
        ErrorCode::kNotFound,
        fmt::format("The key \"{}original_context_length\" is missing; YaRN needs it.", p));
  }
  c.yarn.original_context = c.original_context;
  PUNA_TRY(c.yarn.beta_fast, positive(file, p + "yarn_beta_fast", 32.0));
  PUNA_TRY(c.yarn.beta_slow, positive(file, p + "yarn_beta_slow", 1.0));
  PUNA_TRY(const double share, file.get_float(p + "yarn_ext_factor", 1.0));
  if (share != 1.0) {
    return base::fail(
        ErrorCode::kUnsupported,
        fmt::format("The key \"{}yarn_ext_factor\" is {}; only 1 is supported.", p, share));
  }
  PUNA_TRY(const double multiplier, file.get_float(p + "yarn_log_multiplier", 0.0));
  const double all = multiplier == 0 ? 1.0 : magnitude(factor, multiplier);
  c.rope_magnitude *= static_cast<float>(magnitude(factor, 1.0) / all);
  return {};
}

}  // namespace

Result<void> read_rope_scaling(const formats::ModelFile& file, Config& c) {
  const std::string p = c.architecture + ".rope.scaling.";
  PUNA_TRY(const std::string type, file.get_string(p + "type", "none"));
  PUNA_TRY(c.rope_magnitude, positive(file, p + "attn_factor", 1.0));
  PUNA_TRY(const uint64_t original, file.get_uint(p + "original_context_length", 0));
  if (original > uint64_t{1} << 30) {
    return base::fail(ErrorCode::kCorrupt,
                      fmt::format("The key \"{}original_context_length\" is {}, but up to {} is "
                                  "expected.",
                                  p, original, 1 << 30));
  }
  c.original_context = static_cast<uint32_t>(original);
  if (file.find_tensor("rope_factors_long.weight")) c.usual_context = c.original_context;
  if (type == "none" || type == "longrope") return {};
  if (type != "linear" && type != "yarn") {
    return base::fail(
        ErrorCode::kUnsupported,
        fmt::format(
            "The rope scaling \"{}\" is not supported (supported: none, linear, yarn, longrope).",
            type));
  }
  PUNA_TRY(const float factor, positive(file, p + "factor", 1.0));
  c.rope_freq_scale = 1.0f / factor;
  if (type == "yarn") return read_yarn(file, p, double{factor}, c);
  return {};
}

}  // namespace puna::models
