#include "api/ollama/embed.h"

#include "api/testing/talks.h"

using namespace puna;
using namespace puna::api;
using namespace puna::api::test;
using base::Json;

namespace {

service::LoadedModel embedding_model() {
  engine::EngineOptions options;
  options.embeddings = true;
  return service::test::scripted_model(kTalks, std::move(options));
}

// Runs jobs by a second model of the same weights.
struct Embeds {
  Served served{embedding_model()};
  service::LoadedModel model = embedding_model();

  HttpReply ask(Endpoint endpoint, std::string_view body) {
    auto exchange = served.ask(endpoint, body);
    REQUIRE_MESSAGE(exchange.has_value(), exchange.error().text());
    if (auto* reply = std::get_if<HttpReply>(&*exchange)) return *reply;
    const auto reply =
        base::run_until(std::get<Job>(*exchange).run(model, kStays), [&] { model.poll(); });
    REQUIRE_MESSAGE(reply.has_value(), reply.error().text());
    return *reply;
  }
};

double length_of(const Json& row) {
  double out = 0;
  for (const Json& v : row.items()) out += v.number() * v.number();
  return out;
}

}  // namespace

TEST_CASE("texts become embeddings of unit length") {
  Embeds embeds;
  const Json body =
      body_of(embeds.ask(ollama::embed, R"({"model": "Fake", "input": ["a", "aa"]})"));
  CHECK(at(body, "model") == Json("Fake"));
  REQUIRE(at(body, "embeddings").items().size() == 2);
  CHECK(at(body, "embeddings", 0).items().size() == 64);
  CHECK(length_of(at(body, "embeddings", 0)) == doctest::Approx(1));
  CHECK(at(body, "prompt_eval_count") == Json(3));
  CHECK(at(body, "load_duration") == Json(0));
  const Json one = body_of(embeds.ask(ollama::embed, R"({"model": "fake", "input": "aa"})"));
  CHECK(at(one, "embeddings", 0) == at(body, "embeddings", 1));
  const Json cut = body_of(embeds.ask(
      ollama::embed, R"({"model": "fake", "input": "aa", "dimensions": 10, "keep_alive": "1h"})"));
  CHECK(at(cut, "embeddings", 0).items().size() == 10);
  const double length = length_of(at(cut, "embeddings", 0));
  CHECK((length == doctest::Approx(1) || length == 0));
  const Json old = body_of(embeds.ask(ollama::old_embed, R"({"model": "fake", "prompt": "a"})"));
  CHECK(at(old, "embedding").items().size() == 64);
}

TEST_CASE("nothing to embed loads the model") {
  Embeds embeds;
  for (const char* body : {R"({"model": "fake"})", R"({"model": "fake", "input": ""})",
                           R"({"model": "fake", "input": []})"})
    CHECK(at(body_of(embeds.ask(ollama::embed, body)), "embeddings") == Json::array());
  CHECK(at(body_of(embeds.ask(ollama::old_embed, R"({"model": "fake"})")), "embedding") ==
        Json::array());
}

TEST_CASE("a text that is too long is cut, which is told, or refused") {
  Embeds embeds;
  Json body = json(R"({"model": "fake"})");
  body.set("input", std::string(70, 'a'));
  const HttpReply reply = embeds.ask(ollama::embed, body.dump());
  CHECK(at(body_of(reply), "prompt_eval_count") == Json(64));
  REQUIRE(reply.headers.size() == 1);
  CHECK(reply.headers[0].first == "X-Puna-Truncated");
  CHECK(reply.headers[0].second == "6");
  CHECK(embeds.served.ask(ollama::embed, body.set("truncate", false).dump()).error().message ==
        "the input length exceeds the context length: text 1 has 70 tokens, but the model reads "
        "64");
}

TEST_CASE("what embeddings are not made of is refused by name") {
  Embeds embeds;
  Served& served = embeds.served;
  check_fields(served, ollama::embed, json(R"({"model": "fake", "input": "a"})"),
               {ollama::embed_fields()});
  check_fields(served, ollama::old_embed, json(R"({"model": "fake", "prompt": "a"})"),
               {ollama::old_embed_fields()});
  const auto error = [&](Endpoint endpoint, std::string_view body) {
    const auto exchange = served.ask(endpoint, body);
    REQUIRE_FALSE(exchange.has_value());
    return exchange.error().message;
  };
  for (const char* input : {"1", "{}", "[1]", "[[1]]", "[\"a\", 1]"}) {
    CHECK(error(ollama::embed, fmt::format(R"({{"model": "fake", "input": {}}})", input))
              .starts_with("invalid input type"));
  }
  CHECK(error(ollama::embed, R"({"input": "a"})") == "model is required");
  CHECK(error(ollama::old_embed, "") == "missing request body");
  CHECK(error(ollama::embed, R"({"model": "fake", "keep_alive": "x"})").find("keep_alive") !=
        std::string::npos);
}

TEST_CASE("a model that gives text gives no embeddings, and the other way round") {
  Talks served;
  const auto exchange = served.ask(ollama::embed, R"({"model": "fake", "input": "a"})");
  REQUIRE(exchange.has_value());
  CHECK(std::get<HttpReply>(*exchange).status == 501);
  CHECK(at(body_of(exchange), "error").is_string());
  CHECK(std::get<HttpReply>(*served.ask(ollama::old_embed, R"({"model": "fake", "prompt": "a"})"))
            .status == 501);
}
