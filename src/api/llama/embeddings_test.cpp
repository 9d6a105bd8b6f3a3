#include "api/llama/embeddings.h"

#include "api/ollama/embed.h"
#include "api/openai/chat.h"
#include "api/openai/embeddings.h"
#include "api/testing/served.h"

using namespace puna;
using namespace puna::api;
using namespace puna::api::test;
using base::Json;

namespace {

service::LoadedModel embedder(models::Pooling pooling) {
  engine::EngineOptions options;
  options.embeddings = true;
  options.pooling = pooling;
  return service::test::scripted_model(service::test::kTemplate, std::move(options));
}

HttpReply run(base::Result<Exchange> exchange, models::Pooling pooling) {
  REQUIRE_MESSAGE(exchange.has_value(), exchange.error().text());
  REQUIRE(std::holds_alternative<Job>(*exchange));
  service::LoadedModel model = embedder(pooling);
  auto reply = base::run_until(std::get<Job>(*exchange).run(model, kStays), [&] { model.poll(); });
  REQUIRE_MESSAGE(reply.has_value(), reply.error().text());
  return *std::move(reply);
}

}  // namespace

TEST_CASE("a text has one row of length 1, or one for each token") {
  for (const auto pooling : {models::Pooling::kLast, models::Pooling::kNone}) {
    Served served(embedder(pooling));
    const Json body =
        body_of(run(served.ask(llama::embeddings, R"({"content": ["a", "aa"]})"), pooling));
    REQUIRE(body.items().size() == 2);
    CHECK(at(body, 1, "index") == Json(1));
    const bool each = pooling == models::Pooling::kNone;
    CHECK(at(body, 1, "embedding").items().size() == (each ? 2 : 1));
    double squares = 0;
    for (const Json& v : at(body, 0, "embedding", 0).items()) squares += v.number() * v.number();
    CHECK(at(body, 0, "embedding", 0).items().size() == 64);
    if (!each) CHECK(squares == doctest::Approx(1));
  }
}

TEST_CASE("nothing is evaluated for a client that has left") {
  Served served(embedder(models::Pooling::kMean));
  service::LoadedModel model = embedder(models::Pooling::kMean);
  const std::atomic<bool> left = true;
  for (const Endpoint endpoint : {llama::embeddings, ollama::embed}) {
    const auto exchange = served.ask(endpoint, R"({"model": "fake", "input": ["a", "aa", "aaa"]})");
    REQUIRE_MESSAGE(exchange.has_value(), exchange.error().text());
    const auto reply =
        base::run_until(std::get<Job>(*exchange).run(model, left), [&] { model.poll(); });
    REQUIRE_FALSE(reply.has_value());
    CHECK(reply.error().code == base::ErrorCode::kCancelled);
  }
}

TEST_CASE("OpenAI's form has a list of numbers for each text") {
  Served served(embedder(models::Pooling::kMean));
  const Json body = body_of(
      run(served.ask(openai::embeddings, R"({"input": ["a", "aa"]})"), models::Pooling::kMean));
  CHECK(at(body, "model") == Json("fake"));
  CHECK(at(body, "data", 1, "embedding").items().size() == 64);
  CHECK(at(body, "usage", "total_tokens") == Json(3));
  Served rows(embedder(models::Pooling::kNone));
  CHECK(rows.ask(openai::embeddings, R"({"input": "a"})").error().code ==
        base::ErrorCode::kInvalidArgument);
}

TEST_CASE("a model for text gives no embeddings, and one for embeddings no text") {
  Served text(service::test::scripted_model());
  CHECK(std::get<HttpReply>(*text.ask(llama::embeddings, R"({"content": "a"})")).status == 501);
  CHECK_FALSE(text.ask(llama::embeddings, "{}").has_value());
  Served served(embedder(models::Pooling::kMean));
  CHECK(served.ask(openai::chat_completions, R"({"messages": [{"role": "user", "content": "Hi"}]})")
            .error()
            .code == base::ErrorCode::kUnsupported);
}
