#include "api/openai/chat.h"

#include <doctest/doctest.h>

#include "api/llama/tokens.h"
#include "api/openai/models.h"
#include "service/host_here.h"
#include "service/testing/fake_model.h"

using namespace puna;
using namespace puna::api;
using base::Json;
using Kind = service::Event::Kind;

namespace {

ServedModel served_model(service::Host& host) {
  ServedModel out;
  out.id = "fake";
  out.aliases = {"fake", "Other:1b"};
  out.created = 7;
  out.host = &host;
  return out;
}

// A model without a vocabulary, under two names.
struct Served {
  service::HostHere host{service::test::fake_model().model, [](const std::function<void()>&) {}};
  ServedModel model = served_model(host);
  OneModel source{model};

  base::Result<Exchange> ask(Endpoint endpoint, std::string_view body,
                             std::vector<std::string> path_values = {}) {
    const Json json = body.empty() ? Json() : *Json::parse(body);
    HttpRequest http;
    http.path_values = std::move(path_values);
    return endpoint({http, json, &model, source});
  }
};

Texts texts_of(base::Result<Exchange> exchange) {
  REQUIRE_MESSAGE(exchange.has_value(), exchange.error().text());
  return std::get<Texts>(*std::move(exchange));
}

// What stands behind "data: " of each frame.
std::vector<Json> chunks_of(const std::string& frames) {
  std::vector<Json> out;
  constexpr std::string_view kData = "data: ";
  for (size_t at = 0; at < frames.size();) {
    REQUIRE(frames.compare(at, kData.size(), kData) == 0);
    const size_t end = frames.find("\n\n", at);
    REQUIRE(end != std::string::npos);
    const std::string text = frames.substr(at + kData.size(), end - at - kData.size());
    out.push_back(text == "[DONE]" ? Json("[DONE]") : *Json::parse(text));
    at = end + 2;
  }
  return out;
}

const Json& at(const Json& json, std::string_view key) {
  const Json* value = json.find(key);
  REQUIRE_MESSAGE(value != nullptr, key << " of " << json.dump());
  return *value;
}

service::Reply reply_of(std::string text) {
  service::Reply reply;
  reply.text = std::move(text);
  reply.stats = {.n_prompt = 6, .n_cached = 4, .n_generated = 5};
  return reply;
}

constexpr std::string_view kHi = R"({"messages": [{"role": "user", "content": "Hi"}])";
std::string hi(std::string_view more) { return std::string(kHi) + std::string(more) + "}"; }

}  // namespace

TEST_CASE("a streamed chat is a role, what comes, a reason, the usage if asked for, and [DONE]") {
  Served served;
  for (const bool usage : {false, true}) {
    Texts texts = texts_of(
        served.ask(openai::chat_completions,
                   hi(usage ? R"(, "stream": true, "stream_options": {"include_usage": true})"
                            : R"(, "stream": true)")));
    CHECK(texts.stream);
    CHECK(texts.requests.size() == 1);
    Writer& writer = *texts.writer;
    std::string frames = writer.begin();
    frames += writer.next(0, {3, "Hm", Kind::kReasoning});
    frames += writer.next(0, {3, ""});
    frames += writer.next(0, {3, "Hello"});
    frames += writer.end(0, reply_of("Hello"));
    frames += writer.finish();
    const std::vector<Json> chunks = chunks_of(frames);
    REQUIRE(chunks.size() == (usage ? 6 : 5));
    const auto choice = [&](size_t i) { return at(chunks[i], "choices").items().front(); };
    CHECK(at(at(choice(0), "delta"), "role") == Json("assistant"));
    CHECK(at(at(choice(1), "delta"), "reasoning_content") == Json("Hm"));
    CHECK(at(at(choice(2), "delta"), "content") == Json("Hello"));
    CHECK(at(choice(3), "finish_reason") == Json("stop"));
    CHECK(at(choice(3), "delta").members().empty());
    CHECK(chunks[3].find("usage") == nullptr);
    if (usage) {
      CHECK(at(chunks[4], "choices").items().empty());
      CHECK(at(at(chunks[4], "usage"), "total_tokens") == Json(15));
    }
    CHECK(chunks.back() == Json("[DONE]"));
    for (size_t i = 0; i + 1 < chunks.size(); ++i) {
      CHECK(at(chunks[i], "id") == at(chunks[0], "id"));
      CHECK(at(chunks[i], "object") == Json("chat.completion.chunk"));
      CHECK(at(chunks[i], "model") == Json("fake"));
    }
    const auto failed = chunks_of(writer.fail({base::ErrorCode::kDeviceLost, "Gone.", {}}));
    CHECK(at(at(failed[0], "error"), "message") == Json("Gone."));
    CHECK(at(at(failed[0], "error"), "code") == Json(503));
  }
}

TEST_CASE("a chat as a whole has its message, calls with their ids, and what was counted") {
  Served served;
  Texts texts = texts_of(served.ask(openai::chat_completions, hi("")));
  CHECK_FALSE(texts.stream);
  service::Reply reply = reply_of("");
  reply.parsed.reasoning = "Hm";
  reply.parsed.tool_calls = {{"", "look", R"({"at": 1})"}, {"", "go", "{}"}};
  const HttpReply http = texts.writer->whole({reply});
  CHECK(http.status == 200);
  const Json body = *Json::parse(http.body);
  CHECK(at(body, "object") == Json("chat.completion"));
  const Json& choice = at(body, "choices").items().front();
  CHECK(at(choice, "finish_reason") == Json("tool_calls"));
  const Json& message = at(choice, "message");
  CHECK(at(message, "content").is_null());
  CHECK(at(message, "reasoning_content") == Json("Hm"));
  REQUIRE(at(message, "tool_calls").items().size() == 2);
  const Json& call = at(message, "tool_calls").items()[0];
  CHECK(at(at(call, "function"), "arguments") == Json(R"({"at": 1})"));
  CHECK(at(call, "id") != at(at(message, "tool_calls").items()[1], "id"));
  CHECK(at(at(body, "usage"), "completion_tokens") == Json(5));
}

TEST_CASE("a completion is its text") {
  Served served;
  Texts texts = texts_of(served.ask(openai::completions, R"({"prompt": [1, 2], "stream": true})"));
  CHECK(texts.requests[0].tokens == std::vector<int32_t>{1, 2});
  std::string frames = texts.writer->next(0, {3, " there"});
  frames += texts.writer->end(0, reply_of(" there")) + texts.writer->finish();
  const auto chunks = chunks_of(frames);
  REQUIRE(chunks.size() == 3);
  CHECK(at(at(chunks[0], "choices").items()[0], "text") == Json(" there"));
  const Json body = *Json::parse(texts.writer->whole({reply_of(" there")}).body);
  CHECK(at(at(body, "choices").items()[0], "text") == Json(" there"));
  CHECK(at(body, "object") == Json("text_completion"));
}

TEST_CASE("models are listed, and found by any of their names") {
  Served served;
  const auto list = served.ask(openai::models, "");
  REQUIRE(list.has_value());
  const Json body = *Json::parse(std::get<HttpReply>(*list).body);
  CHECK(at(at(body, "data").items()[0], "id") == Json("fake"));
  CHECK(at(at(at(body, "data").items()[0], "meta"), "n_vocab") == Json(1000));
  for (const char* name : {"fake", "FAKE:latest", "other:1b"})
    CHECK(served.ask(openai::model, "", {name}).has_value());
  CHECK(served.ask(openai::model, "", {"none"}).error().code == base::ErrorCode::kNotFound);
  bool found = true;
  served.source.acquire("none", [&](const base::Result<ModelLease>& lease) {
    found = lease.has_value();
    CHECK(lease.error().message == "The model \"none\" is not served here; there is \"fake\".");
  });
  CHECK_FALSE(found);
}

TEST_CASE("tokens are refused where the model has no vocabulary") {
  Served served;
  CHECK(served.ask(llama::tokenize, R"({"content": "a"})").error().code ==
        base::ErrorCode::kUnsupported);
  CHECK(served.ask(llama::detokenize, R"({"tokens": [1]})").error().code ==
        base::ErrorCode::kUnsupported);
}
