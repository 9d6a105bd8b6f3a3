#include "api/openai/chat.h"

#include "api/sampling.h"
#include "api/testing/served.h"
#include "api/tool_choice.h"

using namespace puna;
using namespace puna::api;
using namespace puna::api::test;
using base::Json;
using Kind = service::Event::Kind;

namespace {

constexpr std::string_view kHi = R"({"messages": [{"role": "user", "content": "Hi"}])";
std::string hi(std::string_view more) { return std::string(kHi) + std::string(more) + "}"; }

Texts stream_of(Served& served, std::string_view more = "") {
  return texts_of(
      served.ask(openai::chat_completions, hi(R"(, "stream": true)" + std::string(more))));
}

}  // namespace

TEST_CASE("every field of a chat is checked, and refused by name") {
  Served served;
  check_fields(served, openai::chat_completions, *Json::parse(hi("")),
               {openai::chat_fields(), tool_choice_fields(), answer_fields(), sampling_fields()});
}

TEST_CASE("a streamed chat is a role, what comes, a reason, the usage if asked for, and [DONE]") {
  Served served;
  for (const bool usage : {false, true}) {
    Texts texts = stream_of(served, usage ? R"(, "stream_options": {"include_usage": true})" : "");
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
    const auto choice = [&](size_t i) { return at(chunks[i], "choices", 0).dump(); };
    CHECK(choice(0) ==
          R"({"index":0,"delta":{"role":"assistant","content":null},"finish_reason":null})");
    CHECK(choice(1) == R"({"index":0,"delta":{"reasoning_content":"Hm"},"finish_reason":null})");
    CHECK(choice(2) == R"({"index":0,"delta":{"content":"Hello"},"finish_reason":null})");
    CHECK(choice(3) == R"({"index":0,"delta":{},"finish_reason":"stop"})");
    CHECK(chunks[0].find("timings") == nullptr);
    CHECK((chunks[3].find("timings") != nullptr) == !usage);
    CHECK(chunks[3].find("usage") == nullptr);
    if (usage) {
      CHECK(at(chunks[4], "choices").items().empty());
      CHECK(at(chunks[4], "usage").dump() ==
            R"({"prompt_tokens":10,"completion_tokens":5,"total_tokens":15,)"
            R"("prompt_tokens_details":{"cached_tokens":4}})");
      CHECK(at(chunks[4], "timings", "cache_n") == Json(4));
    }
    CHECK(chunks.back() == Json("[DONE]"));
    for (size_t i = 0; i + 1 < chunks.size(); ++i) {
      CHECK(at(chunks[i], "id") == at(chunks[0], "id"));
      CHECK(at(chunks[i], "object") == Json("chat.completion.chunk"));
      CHECK(at(chunks[i], "model") == Json("fake"));
      CHECK(at(chunks[i], "system_fingerprint").string().starts_with("b"));
    }
    const auto failed = chunks_of(writer.fail({base::ErrorCode::kDeviceLost, "Gone.", {}}));
    CHECK(at(failed[0], "error", "message") == Json("Gone."));
    CHECK(at(failed[0], "error", "code") == Json(503));
  }
}

TEST_CASE("a chat as a whole has its message, calls with their ids, and what was counted") {
  Served served;
  service::Reply reply = reply_of("");
  reply.parsed.reasoning = "Hm";
  reply.parsed.tool_calls = {{"", "look", R"({"at": 1})"}, {"", "go", "{}"}};
  for (const bool parallel : {true, false}) {
    Texts texts = texts_of(served.ask(openai::chat_completions,
                                      hi(parallel ? "" : R"(, "parallel_tool_calls": false)")));
    CHECK_FALSE(texts.stream);
    const HttpReply http = texts.writer->whole({reply});
    CHECK(http.status == 200);
    const Json body = body_of(http);
    CHECK(at(body, "object") == Json("chat.completion"));
    CHECK(at(body, "choices", 0, "finish_reason") == Json("tool_calls"));
    CHECK(at(body, "choices", 0, "logprobs").is_null());
    const Json& message = at(body, "choices", 0, "message");
    CHECK(at(message, "content").is_null());
    CHECK(at(message, "reasoning_content") == Json("Hm"));
    REQUIRE(at(message, "tool_calls").items().size() == (parallel ? 2 : 1));
    CHECK(at(message, "tool_calls", 0, "function").dump() ==
          R"({"name":"look","arguments":"{\"at\": 1}"})");
    CHECK(at(message, "tool_calls", 0, "id").string().size() == 9);
    if (parallel) CHECK(at(message, "tool_calls", 0, "id") != at(message, "tool_calls", 1, "id"));
    CHECK(at(body, "usage", "completion_tokens") == Json(5));
    CHECK(at(body, "timings", "prompt_per_second").number() == doctest::Approx(100));
    CHECK(at(body, "timings", "predicted_per_second").number() == doctest::Approx(100));
  }
}

TEST_CASE("answers finish for reasons that clients know") {
  using engine::StopReason;
  const auto reason = [](StopReason stop) { return openai::finish_reason(reply_of("", stop)); };
  CHECK(reason(StopReason::kEnd) == "stop");
  CHECK(reason(StopReason::kStopped) == "stop");
  CHECK(reason(StopReason::kCancelled) == "stop");
  CHECK(reason(StopReason::kLength) == "length");
  CHECK(reason(StopReason::kContext) == "length");
  service::Reply calls = reply_of("");
  calls.parsed.tool_calls.push_back({.name = "look"});
  CHECK(openai::finish_reason(calls) == "tool_calls");
  calls.stats.stop = StopReason::kLength;
  CHECK(openai::finish_reason(calls) == "length");
}

TEST_CASE("calls stream piece by piece: their name first, then their arguments") {
  Served served;
  Texts texts = stream_of(served);
  CHECK(texts.requests[0].stream_arguments);
  Writer& writer = *texts.writer;
  const auto call = [&](const service::Event& event) {
    const auto chunks = chunks_of(writer.next(0, event));
    return chunks.empty() ? Json() : at(chunks[0], "choices", 0, "delta", "tool_calls", 0);
  };
  const Json begin = call({3, "look", Kind::kCallBegin, 0});
  CHECK(at(begin, "index") == Json(0));
  CHECK(at(begin, "type") == Json("function"));
  CHECK(at(begin, "id").is_string());
  CHECK(at(begin, "function").dump() == R"({"name":"look","arguments":""})");
  CHECK(call({4, "{\"at", Kind::kArguments, 0}).dump() ==
        R"({"index":0,"function":{"arguments":"{\"at"}})");
  CHECK(call({4, "x", Kind::kCallId, 0}).is_null());
  // The call was none: it stays as it is, and the next has a place of its own.
  CHECK(call({5, "", Kind::kCallDrop, 0}).is_null());
  const auto text = chunks_of(writer.next(0, {5, "look{\"at", Kind::kContent}));
  CHECK(at(text[0], "choices", 0, "delta", "content") == Json("look{\"at"));
  const Json next = call({6, "go", Kind::kCallBegin, 0});
  CHECK(at(next, "index") == Json(1));
  CHECK(at(next, "id") != at(begin, "id"));
  CHECK(at(call({6, "{}", Kind::kArguments, 0}), "index") == Json(1));
  const auto last = chunks_of(writer.end(0, reply_of("look{\"at")));
  CHECK(at(last[0], "choices", 0, "finish_reason") == Json("stop"));
}

TEST_CASE("of several calls only the first is streamed where one is asked for") {
  Served served;
  Texts texts = stream_of(served, R"(, "parallel_tool_calls": false)");
  CHECK_FALSE(texts.writer->next(0, {3, "look", Kind::kCallBegin, 0}).empty());
  CHECK(texts.writer->next(0, {3, "go", Kind::kCallBegin, 1}).empty());
  CHECK(texts.writer->next(0, {3, "{}", Kind::kArguments, 1}).empty());
  // One that was none does not count.
  CHECK(texts.writer->next(0, {3, "", Kind::kCallDrop, 0}).empty());
  CHECK_FALSE(texts.writer->next(0, {3, "go", Kind::kCallBegin, 0}).empty());
}

TEST_CASE("several answers have numbers, and their prompt counts once") {
  Served served;
  Texts texts =
      stream_of(served, R"(, "n": 2, "seed": 5, "stream_options": {"include_usage": true})");
  REQUIRE(texts.requests.size() == 2);
  CHECK(texts.requests[0].sampling.seed == 5);
  CHECK(texts.requests[1].sampling.seed != 5);
  Writer& writer = *texts.writer;
  std::string frames = writer.begin();
  frames += writer.next(1, {3, "b"});
  frames += writer.next(0, {3, "a"});
  frames += writer.end(1, reply_of("b"));
  frames += writer.end(0, reply_of("a"));
  frames += writer.finish();
  const auto chunks = chunks_of(frames);
  REQUIRE(chunks.size() == 8);
  for (const auto& [chunk, index] : {std::pair{0, 0}, {1, 1}, {2, 1}, {3, 0}, {4, 1}, {5, 0}})
    CHECK(at(chunks[static_cast<size_t>(chunk)], "choices", 0, "index") == Json(index));
  CHECK(at(chunks[6], "usage", "prompt_tokens") == Json(10));
  CHECK(at(chunks[6], "usage", "completion_tokens") == Json(10));

  Texts whole = texts_of(served.ask(openai::chat_completions, hi(R"(, "n": 2)")));
  const Json body = body_of(whole.writer->whole({reply_of("a"), reply_of("b")}));
  CHECK(at(body, "choices", 1, "index") == Json(1));
  CHECK(at(body, "choices", 1, "message", "content") == Json("b"));
  CHECK(at(body, "usage", "total_tokens") == Json(20));
}

TEST_CASE("tokens have their probabilities with the text that they bring") {
  Served served(service::test::scripted_model());
  const kernels::Chosen held{8, -0.5f, {{8, -0.5f}, {2, -1.0f}}}, shown{2, -0.25f, {{2, -0.25f}}};
  constexpr std::string_view kContent =
      R"({"content":[{"id":8,"token":"a","bytes":[97],"logprob":-0.5,"top_logprobs":)"
      R"([{"id":8,"token":"a","bytes":[97],"logprob":-0.5}]},)"
      R"({"id":2,"token":"Sure.","bytes":[83,117,114,101,46],"logprob":-0.25,"top_logprobs":)"
      R"([{"id":2,"token":"Sure.","bytes":[83,117,114,101,46],"logprob":-0.25}]}]})";
  Texts texts = stream_of(served, R"(, "logprobs": true, "top_logprobs": 1)");
  CHECK(texts.writer->next(0, {.token = 8, .text = "", .logprob = held.logprob, .top = held.top})
            .empty());
  const auto chunks = chunks_of(texts.writer->next(
      0, {.token = 2, .text = "aSure.", .logprob = shown.logprob, .top = shown.top}));
  CHECK(at(chunks[0], "choices", 0, "logprobs").dump() == kContent);
  CHECK(at(chunks_of(texts.writer->end(0, reply_of("")))[0], "choices", 0, "logprobs").is_null());

  service::Reply reply = reply_of("aSure.");
  reply.chosen = {held, shown};
  Texts whole = texts_of(
      served.ask(openai::chat_completions, hi(R"(, "logprobs": true, "top_logprobs": 1)")));
  CHECK(at(body_of(whole.writer->whole({reply})), "choices", 0, "logprobs").dump() == kContent);
}

TEST_CASE("the tokens of a chat are counted without an answer") {
  Served served(service::test::scripted_model());
  CHECK(body_of(served.ask(openai::chat_input_tokens, hi(""))).dump() ==
        R"({"object":"response.input_tokens","input_tokens":1})");
}

TEST_CASE(
    "a stream tells how far its prompt is read, and its timings so far, where it is asked to") {
  Served served;
  for (const bool asked : {false, true}) {
    Texts texts =
        stream_of(served, asked ? R"(, "return_progress": true, "timings_per_token": true)" : "");
    Writer& writer = *texts.writer;
    CHECK(writer.next(0, prompt_event(4)).empty() != asked);
    std::string frames = writer.next(0, prompt_event(10));
    frames += writer.next(0, token_event(3, "", 1, 105));
    frames += writer.next(0, token_event(3, "Hi", 3, 240));
    const auto chunks = chunks_of(frames);
    CHECK(at(chunks.back(), "choices", 0, "delta", "content") == Json("Hi"));
    CHECK((chunks.back().find("timings") != nullptr) == asked);
    if (!asked) continue;
    REQUIRE(chunks.size() == 2);
    CHECK(at(chunks[0], "choices", 0, "delta") == Json::object());
    CHECK(at(chunks[0], "prompt_progress").dump() ==
          R"({"total":10,"cache":4,"processed":10,"time_ms":105})");
    const Json& timings = at(chunks[1], "timings");
    CHECK(at(timings, "cache_n") == Json(4));
    CHECK(at(timings, "prompt_n") == Json(6));
    CHECK(at(timings, "predicted_n") == Json(3));
    CHECK(at(timings, "predicted_ms").number() == doctest::Approx(135));
  }
}

TEST_CASE(
    "a verbose chat has its answer in llama.cpp's form beside, with the prompt as it is read") {
  Served served(
      service::test::scripted_model("{% for m in messages %}{{ m.content }}{% endfor %}<|go|>"));
  const std::string aa = R"({"messages": [{"role": "user", "content": "aa"}])";
  for (const bool stream : {false, true}) {
    for (const bool verbose : {false, true}) {
      std::string body = aa + R"(, "seed": 5, "n_probs": 1)";
      if (stream) body += R"(, "stream": true)";
      if (verbose) body += R"(, "verbose": true)";
      Texts texts = texts_of(served.ask(openai::chat_completions, body + "}"));
      set_prompts(served, texts);
      texts.writer->set_slot(0, 2);
      const service::Reply reply = reply_of("Sure.");
      const Json last = stream ? chunks_of(texts.writer->end(0, reply))[0]
                               : body_of(texts.writer->whole({reply}));
      REQUIRE((last.find("__verbose") != nullptr) == verbose);
      if (!verbose) continue;
      const Json& written = at(last, "__verbose");
      CHECK(at(written, "prompt") == Json("aa<|go|>"));
      CHECK(at(written, "content") == Json("Sure."));
      CHECK(at(written, "id_slot") == Json(2));
      CHECK(at(written, "tokens_predicted") == Json(5));
      CHECK(at(written, "generation_settings", "seed") == Json(5));
      CHECK(at(written, "generation_settings", "stream") == Json(stream));
    }
  }
}
