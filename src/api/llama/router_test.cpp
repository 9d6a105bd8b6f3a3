#include "api/llama/router.h"

#include "api/ollama/asked.h"
#include "api/ollama/models.h"
#include "api/openai/models.h"
#include "api/testing/many.h"
#include "api/testing/talks.h"

using namespace puna;
using namespace puna::api;
using namespace puna::api::test;
using base::ErrorCode;
using base::Json;

TEST_CASE("models are loaded and unloaded by name, where they come and go") {
  Served served;
  Many many(served);
  CHECK(body_of(many.ask(llama::load_model, R"({"model": "fake"})")) ==
        json(R"({"success": true})"));
  CHECK(body_of(many.ask(llama::unload_model, R"({"model": "fake"})")) ==
        json(R"({"success": true})"));
  CHECK(many.done == std::vector<std::string>{"load fake", "unload fake"});
  CHECK(many.ask(llama::load_model, R"({"model": "none"})").error().code == ErrorCode::kNotFound);
  for (const char* body : {"", "{}", R"({"model": ""})", R"({"model": 3})"}) {
    const auto error = many.ask(llama::unload_model, body);
    REQUIRE_FALSE(error.has_value());
    CHECK(status_of(error.error().code) == 400);
  }
  const auto one = served.ask(llama::load_model, R"({"model": "fake"})");
  CHECK(one.error().text() == "This server has one model, which stays.");
}

TEST_CASE("models are fetched and deleted by name, where they come and go") {
  Served served;
  Many many(served);
  for (const char* model : {"user/repo:Q8_0", "smollm2", "hf.co/user/repo", "host/user/repo:tag"}) {
    const Json body = Json::object().set("model", model);
    CHECK(body_of(many.ask(llama::download_model, body.dump())) == json(R"({"success": true})"));
  }
  CHECK(many.done == std::vector<std::string>{"download hf.co/user/repo:Q8_0 as user/repo:Q8_0",
                                              "download smollm2 as smollm2",
                                              "download hf.co/user/repo as hf.co/user/repo",
                                              "download host/user/repo:tag as host/user/repo:tag"});
  const auto remove = [&](std::string_view name) {
    HttpRequest http;
    if (!name.empty()) http.query = {{"model", std::string(name)}};
    const Json none;
    return llama::remove_model({http, none, nullptr, many});
  };
  CHECK(body_of(remove("fake")) == json(R"({"success": true})"));
  CHECK(many.done.back() == "remove fake");
  CHECK(remove("none").error().code == ErrorCode::kNotFound);
  CHECK(remove("").error().text() == "The field \"model\" is missing: which model is meant?");
  CHECK(many.ask(llama::download_model, "{}").error().code == ErrorCode::kInvalidArgument);
  const auto one = served.ask(llama::download_model, R"({"model": "fake"})");
  CHECK(one.error().text() == "This server has one model, which stays.");
}

TEST_CASE("all models are listed with what they do") {
  Served served;
  Many many(served);
  const Json body = body_of(many.ask(openai::models, ""));
  CHECK(many.n_renewed == 1);
  CHECK(at(body, "models").items().size() == 1);
  REQUIRE(at(body, "data").items().size() == 3);
  CHECK(at(body, "data", 0, "status") == json(R"({"value": "loaded", "args": []})"));
  CHECK(at(body, "data", 0, "can_remove") == Json(true));
  CHECK(at(body, "data", 0, "meta", "n_ctx").is_integer());
  CHECK(at(body, "data", 1, "status", "value") == Json("sleeping"));
  CHECK(at(body, "data", 1).find("meta") == nullptr);
  CHECK(at(body, "data", 2, "status") ==
        json(R"({"value": "unloaded", "args": [], "preset": "ctx-size = 7\n", "failed": true,
                 "error": "It is no model."})"));
  CHECK(at(body_of(many.ask(openai::model, "", {"Broken:latest"})), "id") == Json("broken"));
  CHECK(many.ask(openai::model, "", {"none"}).error().code == ErrorCode::kNotFound);
  // The one model of a process has no state to be told.
  CHECK(at(body_of(served.ask(openai::models, "")), "data", 0).find("status") == nullptr);
}

TEST_CASE("what is loaded is told with when it goes") {
  Served served;
  Many many(served);
  const Json body = body_of(many.ask(ollama::ps, ""));
  REQUIRE(at(body, "models").items().size() == 1);
  const std::string expires = at(body, "models", 0, "expires_at").string();
  CHECK(expires.starts_with("20"));
  CHECK(expires < "2200");
}

TEST_CASE("a server of several models says so where none is named") {
  Served served;
  Many many(served);
  HttpRequest http;
  const Json none;
  const auto said = llama::router_props({http, none, nullptr, many});
  REQUIRE(said->has_value());
  const Json body = body_of(**said);
  CHECK(at(body, "role") == Json("router"));
  CHECK(at(body, "max_instances") == Json(3));
  http.query = {{"model", "fake"}};
  CHECK_FALSE(llama::router_props({http, none, nullptr, many})->has_value());
  http.query.clear();
  CHECK_FALSE(llama::router_props({http, none, nullptr, served.source})->has_value());
}

TEST_CASE("a model is told to go without being loaded for that") {
  Served served;
  Many many(served);
  HttpRequest http;
  const auto ask = [&](std::string_view path, std::string_view text) {
    http.path = path;
    const Json body = json(text);
    return ollama::unload({http, body, nullptr, many});
  };
  auto reply = ask("/api/generate", R"({"model": "fake", "keep_alive": 0, "stream": false})");
  REQUIRE(reply->has_value());
  const Json body = body_of(**reply);
  CHECK(at(body, "done_reason") == Json("unload"));
  CHECK(at(body, "response") == Json(""));
  CHECK(many.done == std::vector<std::string>{"unload fake"});
  reply = ask("/api/chat", R"({"model": "other", "messages": [], "keep_alive": "0s"})");
  REQUIRE(reply->has_value());
  CHECK((*reply)->content_type == "application/x-ndjson");
  const base::Error none = ask("/api/chat", R"({"model": "none", "keep_alive": 0})").error();
  CHECK(none.code == ErrorCode::kNotFound);
  CHECK(none.text() == "model \"none\" not found, try pulling it first");
  CHECK_FALSE(ask("/api/chat", R"({"model": "fake", "keep_alive": "soon"})").has_value());
  for (const char* other :
       {R"({"model": "fake", "keep_alive": 5})", R"({"model": "fake", "prompt": "a"})",
        R"({"model": "fake", "prompt": "a", "keep_alive": 0})", R"({"keep_alive": 0})",
        R"({"model": "fake", "messages": [{}], "keep_alive": 0})"})
    CHECK_FALSE(ask("/api/generate", other)->has_value());
}
