#include "api/openai/stream.h"

#include <doctest/doctest.h>

using namespace puna;
using namespace puna::api::openai;
using base::Json;
using Kind = service::Event::Kind;

namespace {

const Json& delta_of(const Json& chunk) {
  const Json* choices = chunk.find("choices");
  REQUIRE(choices != nullptr);
  REQUIRE(choices->items().size() == 1);
  const Json* delta = choices->items()[0].find("delta");
  REQUIRE(delta != nullptr);
  return *delta;
}

service::Reply reply_of(engine::StopReason stop) {
  service::Reply reply;
  reply.stats = {.n_prompt = 6, .n_cached = 4, .n_generated = 5, .prompt_ms = 60, .decode_ms = 40};
  reply.stats.stop = stop;
  return reply;
}

}  // namespace

TEST_CASE("chunks of a chat carry what each event brings") {
  ChatStream stream({"chatcmpl-1", "tiny", 7});
  const Json first = stream.first();
  CHECK(*first.find("object") == Json("chat.completion.chunk"));
  CHECK(*first.find("id") == Json("chatcmpl-1"));
  CHECK(*first.find("created") == Json(7));
  CHECK(*delta_of(first).find("role") == Json("assistant"));
  CHECK(delta_of(first).find("content")->is_null());

  CHECK(*delta_of(*stream.next({3, "Hi"})).find("content") == Json("Hi"));
  CHECK(*delta_of(*stream.next({3, "Hm", Kind::kReasoning})).find("reasoning_content") ==
        Json("Hm"));
  CHECK(!stream.next({3, ""}).has_value());

  const Json begin = delta_of(*stream.next({3, "look", Kind::kCallBegin, 1}));
  const Json& call = begin.find("tool_calls")->items()[0];
  CHECK(*call.find("index") == Json(1));
  CHECK(*call.find("type") == Json("function"));
  CHECK(call.find("id")->is_string());
  CHECK(*call.find("function")->find("name") == Json("look"));
  const Json more = delta_of(*stream.next({3, "{}", Kind::kArguments, 1}));
  CHECK(more.find("tool_calls")->items()[0].find("id") == nullptr);
  CHECK(*more.find("tool_calls")->items()[0].find("function")->find("arguments") == Json("{}"));
}

TEST_CASE("the last chunk tells why the text ended, what was counted and how fast it was") {
  ChatStream stream({"chatcmpl-1", "tiny", 7});
  const Json last = stream.last(reply_of(engine::StopReason::kLength));
  CHECK(delta_of(last).members().empty());
  CHECK(*last.find("choices")->items()[0].find("finish_reason") == Json("length"));
  CHECK(*last.find("usage")->find("prompt_tokens") == Json(10));
  CHECK(*last.find("usage")->find("completion_tokens") == Json(5));
  CHECK(*last.find("usage")->find("total_tokens") == Json(15));
  const Json& timings = *last.find("timings");
  CHECK(*timings.find("cache_n") == Json(4));
  CHECK(timings.find("prompt_per_second")->number() == doctest::Approx(100));
  CHECK(timings.find("predicted_per_second")->number() == doctest::Approx(100));
}

TEST_CASE("reasons to finish") {
  CHECK(finish_reason(reply_of(engine::StopReason::kEnd)) == "stop");
  CHECK(finish_reason(reply_of(engine::StopReason::kStopped)) == "stop");
  CHECK(finish_reason(reply_of(engine::StopReason::kContext)) == "length");
  CHECK(finish_reason(reply_of(engine::StopReason::kCancelled)) == "cancelled");
  service::Reply calls = reply_of(engine::StopReason::kEnd);
  calls.parsed.tool_calls.push_back({.name = "look"});
  CHECK(finish_reason(calls) == "tool_calls");
}

TEST_CASE("chunks of a text completion") {
  const TextStream stream({"cmpl-1", "tiny", 7}, /*tokens=*/false);
  const auto chunk = stream.next({3, "Once"});
  REQUIRE(chunk.has_value());
  CHECK(*chunk->find("object") == Json("text_completion"));
  CHECK(*chunk->find("choices")->items()[0].find("text") == Json("Once"));
  const Json last = stream.last(reply_of(engine::StopReason::kEnd));
  CHECK(*last.find("choices")->items()[0].find("finish_reason") == Json("stop"));
  CHECK(last.find("usage") != nullptr);
}

TEST_CASE("chunks of a text completion have token ids where they are asked for") {
  const TextStream stream({"cmpl-1", "tiny", 7}, /*tokens=*/true);
  CHECK(*stream.next({3, ""})->find("tokens") == Json::array().push(3));
  CHECK(stream.next({-1, "rest"})->find("tokens")->items().empty());
  CHECK(!stream.next({-1, ""}).has_value());
}
