#include "api/sampling.h"

#include <doctest/doctest.h>

#include "service/testing/fake_model.h"
#include "service/testing/scripted_model.h"

using namespace puna;
using namespace puna::api;
using base::ErrorCode;
using base::Json;

namespace {

base::Result<kernels::SamplingParams> read(const service::LoadedModel& model,
                                           std::string_view text) {
  const Json json = *Json::parse(text);
  const auto body = Body::read(json, {sampling_fields()});
  REQUIRE_MESSAGE(body.has_value(), body.error().text());
  return read_sampling(*body, model);
}

}  // namespace

TEST_CASE("sampling has the values of the fields, and the engine's own where there are none") {
  const service::LoadedModel model = service::test::fake_model().model;
  const auto plain = read(model, "{}");
  REQUIRE(plain.has_value());
  CHECK(plain->temperature == kernels::SamplingParams().temperature);
  CHECK(plain->seed != read(model, R"({"seed": -1})")->seed);
  const auto all = read(model, R"({"temperature": 0.5, "dynatemp_range": 0.25, "typical_p": 0.9,
      "xtc_probability": 0.1, "top_n_sigma": -1, "dry_multiplier": 2, "dry_penalty_last_n": 7,
      "mirostat": 2, "mirostat_tau": 4, "seed": 5, "samplers": "kt", "n_probs": 3,
      "logit_bias": [[5, 1.5], [7, false]]})");
  REQUIRE_MESSAGE(all.has_value(), all.error().text());
  CHECK(all->dynatemp_range == 0.25f);
  CHECK(all->top_n_sigma == 0);
  CHECK(all->dry.last == 7);
  CHECK(all->dry.breakers.empty());  // the model has no vocabulary
  CHECK(all->mirostat.version == 2);
  CHECK(all->seed == 5);
  CHECK(all->n_probs == 3);
  CHECK(all->samplers == std::vector{kernels::Sampler::kTopK, kernels::Sampler::kTemperature});
  REQUIRE(all->logit_bias.size() == 2);
  CHECK(all->logit_bias[1].second == -std::numeric_limits<float>::infinity());
  for (const char* wrong :
       {R"({"samplers": "kk"})", R"({"samplers": ["top_k", "none"]})", R"({"samplers": 1})",
        R"({"logit_bias": [[1, true]]})", R"({"logit_bias": [[1, 1], [1, 2]]})",
        R"({"logit_bias": [[1]]})", R"({"logit_bias": 1})", R"({"logit_bias": [[-1, 1]]})",
        R"({"logit_bias": [[1000, 1]]})", R"({"logit_bias": {"1": 1e9}})"}) {
    CHECK_MESSAGE(read(model, wrong).error().code == ErrorCode::kInvalidArgument, wrong);
  }
  CHECK(read(model, R"({"logit_bias": {"x": 1}})").error().text() ==
        "The model fake has no vocabulary. - While reading texts of the field \"logit_bias\"");
}

TEST_CASE("biases are counted before they are read") {
  const service::LoadedModel model = service::test::fake_model().model;
  Json object = Json::object(), list = Json::array();
  for (int i = 0; i < 1025; ++i) {
    object.add(std::to_string(i), 1);
    list.push(Json::array().push(1).push(1));
  }
  for (const Json& biases : {object, list}) {
    CHECK(read(model, Json::object().set("logit_bias", biases).dump()).error().message ==
          "The field \"logit_bias\" is of 1025 tokens or texts, but at most 1024 are possible.");
  }
}

TEST_CASE("a bias of a text is one of all its tokens, and breakers are tokens") {
  const service::LoadedModel model = service::test::scripted_model();
  const auto read_bias = [&](std::string_view text) {
    const auto params = read(model, text);
    REQUIRE_MESSAGE(params.has_value(), params.error().text());
    return params->logit_bias;
  };
  using Bias = std::vector<std::pair<int32_t, float>>;
  CHECK(read_bias(R"({"logit_bias": {"a": 2, "3": -1}})") == Bias{{8, 2}, {3, -1}});
  CHECK(read_bias(R"({"logit_bias": [["aa", 2]]})") == Bias{{8, 2}});
  const auto dry = read(model, R"({"dry_multiplier": 1, "dry_sequence_breakers": ["a", "a"]})");
  REQUIRE_MESSAGE(dry.has_value(), dry.error().text());
  CHECK(dry->dry.breakers == std::vector<std::vector<int32_t>>{{8}});
}

TEST_CASE("parameters are written under the names of their fields, as they were given") {
  const service::LoadedModel model = service::test::fake_model().model;
  const auto params = read(model, R"({"seed": 5, "top_p": 0.1, "logit_bias": [[5, false]],
                                      "samplers": ["top_k", "temperature"]})");
  REQUIRE(params.has_value());
  const Json json = sampling_json(*params);
  CHECK(*json.find("seed") == Json(5));
  CHECK(*json.find("top_p") == Json(0.1));
  CHECK(*json.find("top_n_sigma") == Json(-1));
  CHECK(json.find("samplers")->dump() == R"(["top_k","temperature"])");
  CHECK(json.find("logit_bias")->dump() == R"([{"token":5,"bias":null}])");
}

TEST_CASE("what a body does not say is as the model's defaults have it") {
  service::LoadedModel model = service::test::fake_model().model;
  model.defaults.request.sampling.temperature = 0.25f;
  model.defaults.request.sampling.top_k = 3;
  model.defaults.seed = 11;
  const auto plain = read(model, "{}");
  REQUIRE(plain.has_value());
  CHECK(plain->temperature == 0.25f);
  CHECK(plain->top_k == 3);
  CHECK(plain->seed == 11);
  const auto said = read(model, R"({"temperature": 1, "seed": 5})");
  REQUIRE(said.has_value());
  CHECK(said->temperature == 1);
  CHECK(said->top_k == 3);
  CHECK(said->seed == 5);
  // -1 asks for a seed that is drawn.
  CHECK(read(model, R"({"seed": -1})")->seed != 11);
}
