#include "service/modelfile.h"

#include <doctest/doctest.h>

#include "base/log.h"
#include "service/model_card.h"
#include "service/prepare.h"
#include "service/testing/scripted_model.h"

namespace puna::service {
namespace {

using base::Json;

constexpr const char* kShowsAll =
    "{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}";

std::string prompt(const LoadedModel& model, std::vector<chat::Message> messages) {
  Request request;
  request.messages = std::move(messages);
  const auto text = render_prompt(model, request);
  REQUIRE_MESSAGE(text.has_value(), text.error().text());
  return *text;
}

TEST_CASE("system and messages of a Modelfile stand before each conversation") {
  LoadedModel model = test::scripted_model(kShowsAll);
  apply(store::Modelfile{.system = "Be brief.", .messages = {{"user", "2+2?"}, {"assistant", "4"}}},
        model);
  CHECK(prompt(model, {{.role = "user", .content = "Hi"}}) ==
        "[system]Be brief.[user]2+2?[assistant]4[user]Hi");
  // A request's own system message takes the place of that of the Modelfile.
  CHECK(
      prompt(model, {{.role = "system", .content = "Rhyme."}, {.role = "user", .content = "Hi"}}) ==
      "[system]Rhyme.[user]2+2?[assistant]4[user]Hi");
}

TEST_CASE("a template of Go or of Jinja takes the place of the model's") {
  LoadedModel model = test::scripted_model(kShowsAll);
  apply(store::Modelfile{.chat_template =
                             "{{ range .Messages }}<{{ .Role }}>{{ .Content }}{{ end }}"},
        model);
  CHECK(prompt(model, {{.role = "user", .content = "Hi"}}) == "<user>Hi");
  apply(store::Modelfile{.chat_template = "{% for m in messages %}{{ m.content }}!{% endfor %}"},
        model);
  CHECK(prompt(model, {{.role = "user", .content = "Hi"}}) == "Hi!");

  std::string said;
  base::set_log_sink([&](base::LogLevel, std::string_view text) { said += text; },
                     base::LogLevel::kWarning);
  apply(store::Modelfile{.chat_template = "{{ if }}"}, model);
  base::set_log_sink(base::log_to_stderr, base::LogLevel::kWarning);
  CHECK(said.contains("TEMPLATE"));
  CHECK(prompt(model, {{.role = "user", .content = "Hi"}}) == "Hi!");
}

TEST_CASE("parameters of a Modelfile come before all that was said of the model") {
  LoadedModel model = test::scripted_model(kShowsAll);
  model.defaults.request.sampling.temperature = 0.1f;
  model.defaults.request.stop = {"of a flag"};
  store::Modelfile file;
  file.parameters = *Json::parse(
      R"({"temperature": 0.5, "top_k": 7, "repeat_last_n": -1, "num_predict": 12, "seed": 3,
          "stop": ["a", "b"], "num_batch": 4, "mirostat_tau": 4})");
  apply(file, model);
  const Defaults& defaults = model.defaults;
  CHECK(defaults.request.sampling.temperature == 0.5f);
  CHECK(defaults.request.sampling.top_k == 7);
  CHECK(defaults.request.sampling.repeat_last == model.context());
  CHECK(defaults.request.sampling.mirostat.tau == 4);
  CHECK(defaults.request.max_tokens == 12u);
  CHECK(defaults.seed == 3u);
  CHECK(defaults.request.stop == std::vector<std::string>{"a", "b"});
  CHECK(defaults.named.contains("top_k"));
  CHECK(!defaults.named.contains("top_p"));
}

TEST_CASE("parameters that another program has let in are left out by name") {
  LoadedModel model = test::scripted_model(kShowsAll);
  const float before = model.defaults.request.sampling.temperature;
  std::string said;
  base::set_log_sink([&](base::LogLevel, std::string_view text) { said += text; },
                     base::LogLevel::kWarning);
  store::Modelfile file;
  file.parameters = *Json::parse(
      R"({"temperature": -1, "top_p": "x", "top_k": 1.5, "stop": [1], "min_p": 0.25})");
  apply(file, model);
  base::set_log_sink(base::log_to_stderr, base::LogLevel::kWarning);
  for (const char* name : {"temperature", "top_p", "top_k", "stop"})
    CHECK_MESSAGE(said.contains(std::string("parameter ") + name), name);
  CHECK(model.defaults.request.sampling.temperature == before);
  CHECK(model.defaults.request.sampling.min_p == 0.25f);
}

TEST_CASE("what a Modelfile says of loading holds where nothing else does") {
  store::Modelfile file;
  file.parameters = *Json::parse(R"({"num_ctx": 4096, "num_thread": 3, "num_gpu": 0})");
  engine::EngineOptions options;
  apply(file, /*trained=*/2048, options);
  CHECK(options.context == 2048u);
  CHECK(options.n_threads == 3);
  CHECK(options.gpu_layers == 0u);
  options = {};
  options.context = 100;
  options.n_threads = 1;
  options.gpu_layers = 5;
  apply(file, /*trained=*/0, options);
  CHECK(options.context == 100u);
  CHECK(options.n_threads == 1);
  CHECK(options.gpu_layers == 5u);
}

TEST_CASE("what a model is is read off its file") {
  formats::ModelFile file = test::scripted(kShowsAll);
  const auto parsed = any_template("{% for m in messages %}{{ m.content }}{{ tools }}{% endfor %}");
  REQUIRE(parsed.has_value());
  const ModelCard card = card_of(file, &*parsed);
  CHECK(card.family == "llama");
  CHECK(card.format == "safetensors");
  CHECK(card.n_parameters == n_parameters(file));
  CHECK(card.capabilities == std::vector<std::string>{"completion", "tools"});
  CHECK(card_of(file, nullptr).capabilities == std::vector<std::string>{"completion"});
  file.metadata.emplace_back("llama.pooling_type", uint64_t{1});
  CHECK(card_of(file, &*parsed).capabilities == std::vector<std::string>{"embedding"});
  CHECK(parameter_size(999) == "999");
  CHECK(parameter_size(37'000) == "37K");
  CHECK(parameter_size(361'821'120) == "361.82M");
  CHECK(parameter_size(3'212'749'888) == "3.2B");
  CHECK(any_template("{{ if }}").error().code == base::ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace puna::service
