#include "api/ollama/models.h"

#include "api/ollama/chat.h"
#include "api/ollama/details.h"
#include "api/ollama/generate.h"
#include "api/ollama/not_here.h"
#include "api/ollama/show.h"
#include "api/ollama/version.h"
#include "api/testing/many.h"
#include "api/testing/talks.h"

using namespace puna;
using namespace puna::api;
using namespace puna::api::test;
using base::Json;

TEST_CASE("every name of a model is listed with its tag") {
  Talks served;
  const Json body = body_of(served.ask(ollama::tags, ""));
  REQUIRE(at(body, "models").items().size() == 2);
  CHECK(at(body, "models", 0, "name") == Json("fake:latest"));
  CHECK(at(body, "models", 1, "model") == Json("Other:1b"));
  CHECK(at(body, "models", 0, "modified_at") == Json("1970-01-01T00:00:07.000000000Z"));
  CHECK(at(body, "models", 0, "details") == json(R"({"parent_model": "", "format": "safetensors",
      "family": "llama", "families": ["llama"], "parameter_size": "37K",
      "quantization_level": "unknown", "context_length": 64, "embedding_length": 64})"));
  CHECK(at(body, "models", 0, "capabilities") == json(R"(["completion", "tools", "thinking"])"));
  Talks plain(kPlain);
  CHECK(ollama::capabilities_json(facts_of(plain.model->loaded()).card) ==
        json(R"(["completion"])"));
  CHECK(ollama::tagged("a:b/c") == "a:b/c:latest");
}

TEST_CASE("what runs has its memory and its context") {
  Talks served;
  const Json body = body_of(served.ask(ollama::ps, ""));
  REQUIRE(at(body, "models").items().size() == 1);
  CHECK(at(body, "models", 0, "name") == Json("fake:latest"));
  CHECK(at(body, "models", 0, "size").integer() > 0);
  CHECK(at(body, "models", 0, "size_vram") == Json(0));
  CHECK(at(body, "models", 0, "context_length") == Json(64));
  CHECK(at(body, "models", 0, "expires_at") == Json("2200-01-01T00:00:00Z"));
}

TEST_CASE("a model of a preset or a folder is shown before it is loaded") {
  Served served;
  Many many(served);
  const Json body = body_of(many.ask(ollama::show, R"({"model": "other"})"));
  CHECK(at(body, "template") == Json("{{ messages }}"));
  CHECK(at(body, "modified_at") == Json("1970-01-01T00:00:01.000000000Z"));
  CHECK(many.ask(ollama::show, R"({"model": "broken"})").error().code == base::ErrorCode::kIo);
}

TEST_CASE("a model is shown by any of its names") {
  service::LoadedModel model = service::test::scripted_model(kTalks);
  Served served(std::move(model));
  const auto show = [&](std::string_view body) { return body_of(served.ask(ollama::show, body)); };
  const Json body = show(R"({"model": "fake"})");
  CHECK(at(body, "modelfile") == Json("FROM fake:latest\n"));
  CHECK(at(body, "template") == Json(kTalks));
  CHECK(at(body, "details", "family") == Json("llama"));
  CHECK(at(body, "model_info", "general.architecture") == Json("llama"));
  CHECK(at(body, "model_info", "llama.block_count") == Json(1));
  CHECK(at(body, "model_info", "general.parameter_count").integer() > 64 * 64);
  CHECK(at(body, "capabilities", 0) == Json("completion"));
  CHECK(body.find("tensors") == nullptr);
  const Json verbose = show(R"({"name": "FAKE:latest", "verbose": true})");
  CHECK(at(verbose, "tensors", 0) ==
        json(R"({"name": "token_embd.weight", "type": "f32", "shape": [64, 64]})"));
  check_fields(served, ollama::show, json(R"({"model": "fake", "name": "fake"})"),
               {ollama::show_fields()});
  CHECK(served.ask(ollama::show, "{}").error().message == "model is required");
  const base::Error missing = served.ask(ollama::show, R"({"name": "none"})").error();
  CHECK(missing.code == base::ErrorCode::kNotFound);
  CHECK(missing.message == "model 'none' not found");
}

TEST_CASE("clients learn who is there and what is not") {
  Talks served;
  CHECK(std::get<HttpReply>(*served.ask(ollama::root, "")).body == "Ollama is running");
  CHECK(at(body_of(served.ask(ollama::version, "")), "version").is_string());
  HttpRequest http;
  http.method = "POST";
  http.path = "/api/pull";
  const Json none;
  const auto exchange = ollama::not_here({http, none, nullptr, served.source});
  REQUIRE(exchange.has_value());
  CHECK(std::get<HttpReply>(*exchange).status == 501);
  CHECK(std::get<HttpReply>(*exchange).body ==
        R"({"error":"POST /api/pull is not supported by this server"})");
}
