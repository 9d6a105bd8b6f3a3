#include "service/defaults.h"

#include <doctest/doctest.h>

#include <cmath>

#include "base/log.h"

using namespace puna;
using namespace puna::service;
using formats::ModelFile;
using kernels::Sampler;

TEST_CASE("a file's values of sampling come before Puna's own, and their fields are named") {
  ModelFile file;
  file.metadata.emplace_back("general.sampling.temp", 0.25);
  file.metadata.emplace_back("general.sampling.top_k", uint64_t{7});
  file.metadata.emplace_back("general.sampling.penalty_last_n", int64_t{5});
  file.metadata.emplace_back("general.sampling.mirostat_tau", 3.5);
  file.metadata.emplace_back("general.sampling.sequence", std::string("top_k;temperature"));
  const Defaults defaults = defaults_of(file);
  const kernels::SamplingParams& sampling = defaults.request.sampling;
  CHECK(sampling.temperature == 0.25f);
  CHECK(sampling.top_k == 7);
  CHECK(sampling.repeat_last == 5);
  CHECK(sampling.mirostat.tau == 3.5f);
  CHECK(sampling.samplers == std::vector{Sampler::kTopK, Sampler::kTemperature});
  CHECK(sampling.top_p == kernels::SamplingParams().top_p);
  CHECK(defaults.named == std::set<std::string, std::less<>>{
                              "temperature", "top_k", "repeat_last_n", "mirostat_tau", "samplers"});
}

TEST_CASE("what a file says comes before the defaults of whoever opens it, and leaves the others") {
  Defaults asked;
  asked.request.sampling.temperature = 0.5f;
  asked.request.sampling.top_k = 3;
  asked.named = {"temperature", "top_k"};
  ModelFile file;
  file.metadata.emplace_back("general.sampling.temp", 0.25);
  file.metadata.emplace_back("general.sampling.min_p", -1.0);  // which cannot be used
  const Defaults defaults = defaults_of(file, asked);
  CHECK(defaults.request.sampling.temperature == 0.25f);
  CHECK(defaults.request.sampling.top_k == 3);
  CHECK(defaults.request.sampling.min_p == kernels::SamplingParams().min_p);
  CHECK(defaults.named == asked.named);
}

TEST_CASE("a file's value that cannot be used is left out, and the log names its key") {
  std::string logged;
  base::set_log_sink([&](base::LogLevel, std::string_view text) { logged += text; },
                     base::LogLevel::kWarning);
  ModelFile file;
  file.metadata.emplace_back("general.sampling.temp", -1.0);
  file.metadata.emplace_back("general.sampling.top_p", std::nan(""));
  file.metadata.emplace_back("general.sampling.penalty_last_n", int64_t{-1});
  file.metadata.emplace_back("general.sampling.top_k", std::string("many"));
  file.metadata.emplace_back("general.sampling.sequence", std::string("top_k;nonsense"));
  file.metadata.emplace_back("general.sampling.min_p", 0.125);
  const Defaults defaults = defaults_of(file);
  base::set_log_sink(base::log_to_stderr, base::LogLevel::kWarning);
  CHECK(defaults.named == std::set<std::string, std::less<>>{"min_p"});
  CHECK(defaults.request.sampling.min_p == 0.125f);
  CHECK(defaults.request.sampling.temperature == kernels::SamplingParams().temperature);
  for (const char* key : {"temp", "top_p", "penalty_last_n", "top_k", "sequence"})
    CHECK_MESSAGE(logged.find(std::string("general.sampling.") + key) != std::string::npos, logged);
}

TEST_CASE("stages are read by names, each once") {
  CHECK(samplers_named("top_k;temperature") == std::vector{Sampler::kTopK, Sampler::kTemperature});
  CHECK(samplers_named("")->empty());
  CHECK_FALSE(samplers_named("top_k;top_k"));
  CHECK_FALSE(samplers_named("top_k;;min_p"));
  CHECK_FALSE(samplers_named("k"));
}
