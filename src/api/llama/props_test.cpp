#include "api/llama/props.h"

#include "api/testing/served.h"

using namespace puna;
using namespace puna::api;
using namespace puna::api::test;
using base::Json;

TEST_CASE("the properties of a model are what it has") {
  Served served(service::test::scripted_model());
  const Json body = body_of(served.ask(llama::props, ""));
  CHECK(at(body, "default_generation_settings", "n_ctx") == Json(64));
  CHECK(at(body, "default_generation_settings", "params", "top_k") == Json(40));
  CHECK(at(body, "default_generation_settings", "params", "seed") == Json(-1));
  CHECK(at(body, "total_slots") == Json(1));
  CHECK(at(body, "model_alias") == Json("fake"));
  CHECK(at(body, "chat_template") == Json(service::test::kTemplate));
  CHECK(at(body, "chat_template_caps", "supports_tools") == Json(true));
  CHECK(at(body, "chat_template_caps", "supports_thinking_switch") == Json(false));
  CHECK(at(body, "eos_token") == Json("<|end|>"));
  CHECK(at(body, "bos_token") == Json(""));
  CHECK(at(body, "modalities", "vision") == Json(false));
  CHECK(at(body_of(served.ask(llama::change_props, "{}")), "success") == Json(true));
}

TEST_CASE("the properties of a model have the seed that the server was given") {
  service::LoadedModel model = service::test::scripted_model();
  model.defaults.seed = 7;
  Served served(std::move(model));
  const Json body = body_of(served.ask(llama::props, ""));
  CHECK(at(body, "default_generation_settings", "params", "seed") == Json(7));
}

TEST_CASE("the properties of a model tell whether its thinking can be switched") {
  Served served(service::test::scripted_model(
      "{% for m in messages %}{{ m.content }}{% endfor %}{% if enable_thinking %}t{% endif %}"));
  const Json body = body_of(served.ask(llama::props, ""));
  CHECK(at(body, "chat_template_caps", "supports_thinking_switch") == Json(true));
  CHECK(at(body, "chat_template_caps", "supports_reasoning_effort") == Json(false));
}
