#include "service/defaults.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/log.h"

namespace puna::service {

using base::Result;
using formats::ModelFile;
using kernels::SamplingParams;

namespace {

constexpr std::string_view kPrefix = "general.sampling.";

// A key behind the prefix, the field of requests that it is the default of, and how it is taken.
struct Key {
  std::string_view name, field;
  Result<void> (*take)(const ModelFile& file, std::string_view key, SamplingParams& to);
};

template <auto kMember>
Result<void> number(const ModelFile& file, std::string_view key, SamplingParams& to) {
  PUNA_TRY(const double value, file.get_float(key));
  to.*kMember = static_cast<float>(value);
  return {};
}

Result<void> count(const ModelFile& file, std::string_view key, uint32_t& to) {
  PUNA_TRY(const uint64_t value, file.get_uint(key));
  if (value > UINT32_MAX) {
    return base::fail(base::ErrorCode::kCorrupt, fmt::format("\"{}\" is {}.", key, value));
  }
  to = static_cast<uint32_t>(value);
  return {};
}

constexpr Key kKeys[] = {
    {"temp", "temperature", number<&SamplingParams::temperature>},
    {"top_p", "top_p", number<&SamplingParams::top_p>},
    {"min_p", "min_p", number<&SamplingParams::min_p>},
    {"xtc_probability", "xtc_probability", number<&SamplingParams::xtc_probability>},
    {"xtc_threshold", "xtc_threshold", number<&SamplingParams::xtc_threshold>},
    {"penalty_repeat", "repeat_penalty", number<&SamplingParams::repeat_penalty>},
    {"top_k", "top_k",
     [](const ModelFile& file, std::string_view key, SamplingParams& to) {
       return count(file, key, to.top_k);
     }},
    {"penalty_last_n", "repeat_last_n",
     [](const ModelFile& file, std::string_view key, SamplingParams& to) {
       return count(file, key, to.repeat_last);
     }},
    {"mirostat", "mirostat",
     [](const ModelFile& file, std::string_view key, SamplingParams& to) {
       return count(file, key, to.mirostat.version);
     }},
    {"mirostat_tau", "mirostat_tau",
     [](const ModelFile& file, std::string_view key, SamplingParams& to) -> Result<void> {
       PUNA_TRY(const double value, file.get_float(key));
       to.mirostat.tau = static_cast<float>(value);
       return {};
     }},
    {"mirostat_eta", "mirostat_eta",
     [](const ModelFile& file, std::string_view key, SamplingParams& to) -> Result<void> {
       PUNA_TRY(const double value, file.get_float(key));
       to.mirostat.eta = static_cast<float>(value);
       return {};
     }},
    {"sequence", "samplers",
     [](const ModelFile& file, std::string_view key, SamplingParams& to) -> Result<void> {
       PUNA_TRY(const std::string names, file.get_string(key));
       auto samplers = samplers_named(names);
       if (!samplers) {
         return base::fail(base::ErrorCode::kUnsupported,
                           fmt::format("\"{}\" is \"{}\", which are no stages.", key, names));
       }
       to.samplers = *std::move(samplers);
       return {};
     }},
};

}  // namespace

std::optional<std::vector<kernels::Sampler>> samplers_named(std::string_view names) {
  std::vector<kernels::Sampler> out;
  while (!names.empty()) {
    const size_t end = std::min(names.find(';'), names.size());
    const auto stage = kernels::sampler_named(names.substr(0, end));
    if (!stage || std::ranges::find(out, *stage) != out.end()) return {};
    out.push_back(*stage);
    names.remove_prefix(std::min(end + 1, names.size()));
  }
  return out;
}

Defaults defaults_of(const ModelFile& file, Defaults otherwise) {
  Defaults out = std::move(otherwise);
  for (const Key& key : kKeys) {
    const std::string name = fmt::format("{}{}", kPrefix, key.name);
    if (!file.find(name)) continue;
    SamplingParams changed = out.request.sampling;
    Result<void> taken = key.take(file, name, changed);
    if (taken) taken = kernels::check(changed);
    if (!taken) {
      base::log_warning("The value of {} is not used: {}", name, taken.error().text());
      continue;
    }
    out.request.sampling = std::move(changed);
    out.named.emplace(key.field);
  }
  return out;
}

}  // namespace puna::service
