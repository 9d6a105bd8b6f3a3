// How a file says that rotary positions are stretched beyond the original context: "linear",
// "yarn", or "longrope", whose factors are tensors.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
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
  PUNA_TRY(const double share, file.get_float(p + "yarn_ext_factor", 1.0));
  if (share == 0.0) return {};          // of YaRN's ramp: what is left is linear
  if (share != 1.0 && share != -1.0) {  // -1: not set
    return base::fail(
        ErrorCode::kUnsupported,
        fmt::format("The key \"{}yarn_ext_factor\" is {}; only 0 and 1 are supported.", p, share));
  }
  c.yarn.original_context = c.original_context;
  PUNA_TRY(c.yarn.beta_fast, positive(file, p + "yarn_beta_fast", 32.0));
  PUNA_TRY(c.yarn.beta_slow, positive(file, p + "yarn_beta_slow", 1.0));
  // What converters take from "attention_factor", which transformers puts in place of the usual
  // magnitude.
  if (const std::string whole = p + "yarn_attn_factor"; file.find(whole)) {
    PUNA_TRY(const float given, positive(file, whole, 1.0));
    c.rope_magnitude *= given;
    return {};
  }
  PUNA_TRY(const double multiplier, file.get_float(p + "yarn_log_multiplier", 0.0));
  const double all = multiplier == 0 ? 1.0 : magnitude(factor, multiplier);
  c.rope_magnitude *= static_cast<float>(magnitude(factor, 1.0) / all);
  return {};
}

}  // namespace

Result<void> read_rope_scaling(const formats::ModelFile& file, Config& c) {
  const std::string p = c.architecture + ".rope.scaling.";
  PUNA_TRY(const std::string type, file.get_string(p + "type", "linear"));
  PUNA_TRY(c.rope_magnitude, positive(file, p + "attn_factor", 1.0));
  PUNA_TRY(const uint64_t original, file.get_uint(p + "original_context_length", 0));
  if (original > uint64_t{1} << 30) {
    return base::fail(ErrorCode::kCorrupt,
                      fmt::format("The key \"{}original_context_length\" is {}, but up to {} is "
                                  "expected.",
                                  p, original, 1 << 30));
  }
  // As llama.cpp and transformers have it where a file is silent.
  c.original_context = original == 0 ? c.context : static_cast<uint32_t>(original);
  if (file.find_tensor("rope_factors_long.weight")) c.usual_context = c.original_context;
  if (type == "none" || type == "longrope") return {};
  if (type != "linear" && type != "yarn") {
    return base::fail(
        ErrorCode::kUnsupported,
        fmt::format(
            "The rope scaling \"{}\" is not supported (supported: none, linear, yarn, longrope).",
            type));
  }
  const bool has_factor = file.find(p + "factor") != nullptr;
  const std::string older = c.architecture + ".rope.scale_linear";
  PUNA_TRY(const float stretch, factor(file, has_factor ? p + "factor" : older, 1.0));
  c.rope_freq_scale = 1.0f / stretch;
  if (type == "yarn") return read_yarn(file, p, double{stretch}, c);
  return {};
}

Result<kernels::RopeSections> read_rope_sections(const formats::ModelFile& file, const Config& c,
                                                 kernels::SectionOrder order) {
  const std::string key = c.architecture + ".rope.dimension_sections";
  const formats::Value* value = file.find(key);
  if (!value) {
    return base::fail(ErrorCode::kNotFound, fmt::format("The key \"{}\" is missing.", key));
  }
  PUNA_TRY(const std::vector<uint64_t> sizes, formats::as_uints(key, *value));
  uint64_t n = 0;
  for (const uint64_t size : sizes) n += std::min<uint64_t>(size, c.n_rot);
  if (sizes.size() < 3 || sizes.size() > kernels::kSections || n != c.n_rot / 2) {
    return base::fail(
        ErrorCode::kCorrupt,
        fmt::format("The key \"{}\" is [{}], but 3 or 4 numbers are expected, together {}.", key,
                    fmt::join(sizes, ", "), c.n_rot / 2));
  }
  if (sizes.size() > 3 && sizes[3] > 0) {
    return base::fail(
        ErrorCode::kUnsupported,
        fmt::format("The key \"{}\" has {} pairs for a fourth coordinate, which is not supported.",
                    key, sizes[3]));
  }
  kernels::RopeSections out{.order = order};
  for (size_t i = 0; i < 3; ++i) out.sizes[i] = static_cast<uint32_t>(sizes[i]);
  return out;
}

}  // namespace puna::models
