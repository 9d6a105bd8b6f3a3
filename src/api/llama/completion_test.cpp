#include "api/llama/completion.h"

#include "api/llama/apply_template.h"
#include "api/sampling.h"
#include "api/testing/served.h"

using namespace puna;
using namespace puna::api;
using namespace puna::api::test;
using base::Json;

namespace {

service::Reply stopped_reply() {
  service::Reply reply = reply_of("a\n", engine::StopReason::kStopped);
  reply.stop_text = "END";
  reply.tokens = {8, 2};
  return reply;
}

}  // namespace

TEST_CASE("every field of a completion in llama.cpp's form is checked, and refused by name") {
  Served served;
  check_fields(served, llama::completion, *Json::parse(R"({"prompt": [1]})"),
               {llama::completion_fields(), answer_fields(), sampling_fields()});
}

TEST_CASE("a whole completion has its text, why it ended and what it was written by") {
  Served served(service::test::scripted_model());
  Texts texts = texts_of(served.ask(
      llama::completion,
      R"({"prompt": ["a", 0], "n_predict": 7, "seed": 5, "stop": "END", "return_tokens": true})"));
  CHECK_FALSE(texts.stream);
  REQUIRE(texts.requests.size() == 1);
  CHECK(texts.requests[0].tokens == std::vector<int32_t>{8, 0});
  Json body = body_of(texts.writer->whole({stopped_reply()}));
  const Json settings = at(body, "generation_settings");
  CHECK(at(settings, "n_predict") == Json(7));
  CHECK(at(settings, "seed") == Json(5));
  CHECK(at(settings, "stop").dump() == R"(["END"])");
  CHECK(at(settings, "top_k") == Json(40));
  CHECK(at(settings, "adaptive_target") == Json(-1));
  CHECK(at(body, "timings", "cache_n") == Json(4));
  body.set("generation_settings", nullptr).set("timings", nullptr);
  CHECK(body.dump() ==
        R"({"index":0,"content":"a\n","tokens":[8,2],"id_slot":-1,"stop":true,"model":"fake",)"
        R"("tokens_predicted":5,"tokens_evaluated":10,"generation_settings":null,)"
        R"("prompt":"a<|go|>","has_new_line":true,"truncated":false,"stop_type":"word",)"
        R"("stopping_word":"END","tokens_cached":14,"timings":null})");
}

TEST_CASE("what stays and goes where a context is full is read where the server shifts") {
  Served usual;
  const auto shift = [](Served& served, const char* body) {
    return texts_of(served.ask(llama::completion, body)).requests.at(0).shift;
  };
  constexpr const char* kBody = R"({"prompt": [1], "n_keep": 7, "n_discard": 2})";
  CHECK_FALSE(shift(usual, kBody).has_value());
  service::LoadedModel model = service::test::fake_model().model;
  model.defaults.request.shift.emplace().n_keep = 3;
  Served shifts(std::move(model));
  CHECK(shift(shifts, R"({"prompt": [1]})")->n_keep == 3u);
  CHECK(shift(shifts, kBody)->n_keep == 7u);
  CHECK(shift(shifts, kBody)->n_discard == 2);
  CHECK_FALSE(shift(shifts, R"({"prompt": [1], "n_keep": -1})")->n_keep.has_value());
  // Of what has gone the answer says so.
  Texts texts = texts_of(shifts.ask(llama::completion, kBody));
  service::Reply reply = stopped_reply();
  reply.stats.n_discarded = 3;
  const Json body = body_of(texts.writer->whole({reply}));
  CHECK(at(body, "truncated") == Json(true));
  CHECK(at(body, "tokens_cached") == Json(11));
}

TEST_CASE("a completion ends by its end, a limit, a word, or nothing of these") {
  Served served;
  using engine::StopReason;
  for (const auto& [stop, type, truncated] : {std::tuple{StopReason::kEnd, "eos", false},
                                              {StopReason::kLength, "limit", false},
                                              {StopReason::kContext, "limit", true},
                                              {StopReason::kCancelled, "none", false}}) {
    Texts texts = texts_of(served.ask(llama::completion, R"({"prompt": [1]})"));
    const Json body = body_of(texts.writer->whole({reply_of("", stop)}));
    CHECK(at(body, "stop_type") == Json(type));
    CHECK(at(body, "truncated") == Json(truncated));
    CHECK(at(body, "stopping_word") == Json(""));
    CHECK(at(body, "tokens").items().empty());
  }
}

TEST_CASE("a stream has pieces with their tokens and the whole at its end, without [DONE]") {
  Served served(service::test::scripted_model());
  Texts texts =
      texts_of(served.ask(llama::completion, R"({"prompt": "a", "stream": true, "n_probs": 1})"));
  Writer& writer = *texts.writer;
  CHECK(writer.begin().empty());
  CHECK(writer.next(0, prompt_event(4)).empty());
  service::Event first = token_event(8, "", 1, 5), second = token_event(8, "aa", 2, 6);
  first.logprob = -0.5f;
  first.top = {{8, -0.5f}};
  second.logprob = -1.0f;
  CHECK(writer.next(0, first).empty());
  const auto chunks = chunks_of(writer.next(0, second));
  CHECK(chunks[0].dump() ==
        R"({"index":0,"content":"aa","tokens":[8,8],"stop":false,"id_slot":-1,)"
        R"("tokens_predicted":2,"tokens_evaluated":1,"completion_probabilities":[)"
        R"({"id":8,"token":"a","bytes":[97],"logprob":-0.5,"top_logprobs":)"
        R"([{"id":8,"token":"a","bytes":[97],"logprob":-0.5}]},)"
        R"({"id":8,"token":"a","bytes":[97],"logprob":-1.0,"top_logprobs":[]}]})");
  const auto last = chunks_of(writer.end(0, stopped_reply()));
  CHECK(at(last[0], "stop") == Json(true));
  CHECK(at(last[0], "content") == Json(""));
  CHECK(at(last[0], "stopping_word") == Json("END"));
  CHECK(writer.finish().empty());
  const auto failed = chunks_of(writer.fail({base::ErrorCode::kDeviceLost, "Gone.", {}}));
  CHECK(failed[0].dump() ==
        R"({"error":{"code":503,"message":"Gone.","type":"unavailable_error"}})");
}

TEST_CASE("several prompts and answers come as a list") {
  Served served;
  Texts texts = texts_of(served.ask(llama::completion, R"({"prompt": [[1], [2]], "response_fields":
          ["content", "index", "generation_settings/n_predict", "generation_settings/none"]})"));
  CHECK(body_of(texts.writer->whole({reply_of("a"), reply_of("b")})).dump() ==
        R"([{"content":"a","index":0,"generation_settings/n_predict":-1},)"
        R"({"content":"b","index":1,"generation_settings/n_predict":-1}])");
  Texts listed = texts_of(served.ask(llama::completion, R"({"prompt": [[1]]})"));
  CHECK(body_of(listed.writer->whole({reply_of("a")})).is_array());
  Texts two = texts_of(served.ask(llama::completion, R"({"prompt": [1], "n_cmpl": 2})"));
  CHECK(two.requests.size() == 2);
  CHECK(body_of(two.writer->whole({reply_of("a"), reply_of("b")})).is_array());
}

TEST_CASE("prompts that are none are refused") {
  Served served;
  for (const char* body :
       {"{}", R"({"prompt": []})", R"({"prompt": [1000]})", R"({"prompt": 1})", "[]"})
    CHECK_FALSE(served.ask(llama::completion, body).has_value());
}

TEST_CASE("the text of a conversation is given") {
  Served served(service::test::scripted_model());
  const auto prompt = [&](const char* body) {
    return body_of(served.ask(llama::apply_template, body)).dump();
  };
  CHECK(prompt(R"({"messages": [{"role": "user", "content": "Hi"}]})") == R"({"prompt":"<|go|>"})");
  CHECK(prompt(R"({"messages": [{"role": "user", "content": "Hi"}],
                   "tools": [{"type": "function", "function": {"name": "f"}}]})") ==
        R"({"prompt":"a<|go|>"})");
  Served begun(service::test::scripted_model("{% if add_generation_prompt %}<|go|>{% endif %}"));
  const auto begins = [&](const char* begin) {
    return body_of(begun.ask(llama::apply_template,
                             fmt::format(R"({{"messages": [{{"role": "user", "content": "Hi"}}],
                                           "add_generation_prompt": {}}})",
                                         begin)))
        .dump();
  };
  CHECK(begins("true") == R"({"prompt":"<|go|>"})");
  CHECK(begins("false") == R"({"prompt":""})");
  CHECK_FALSE(served.ask(llama::apply_template, R"({"messages": []})").has_value());
}

TEST_CASE("pieces of a completion tell of its prompt and its timings, where they are asked to") {
  Served served;
  Texts texts = texts_of(
      served.ask(llama::completion, R"({"prompt": [1], "stream": true, "return_progress": true})"));
  CHECK(texts.writer->next(0, prompt_event(7)) ==
        "data: {\"index\":0,\"content\":\"\",\"tokens\":[],\"stop\":false,\"id_slot\":-1,"
        "\"tokens_predicted\":0,\"tokens_evaluated\":1,\"prompt_progress\":{\"total\":10,"
        "\"cache\":4,\"processed\":7,\"time_ms\":73}}\n\n");
  texts = texts_of(served.ask(
      llama::completion,
      R"({"prompt": [1], "stream": true, "return_progress": true, "timings_per_token": true})"));
  std::string frames = texts.writer->next(0, prompt_event(4));
  frames += texts.writer->next(0, prompt_event(10));
  frames += texts.writer->next(0, token_event(8, "", 1, 200));
  const auto chunks = chunks_of(frames);
  // Nothing was evaluated when it began.
  CHECK(at(chunks[0], "timings", "prompt_n") == Json(0));
  CHECK(at(chunks[0], "timings", "prompt_ms").number() == 0);
  CHECK(at(chunks[1], "timings", "prompt_n") == Json(6));
  CHECK(at(chunks[1], "timings", "prompt_ms").number() == doctest::Approx(105));
  CHECK(at(chunks[2], "tokens").dump() == "[8]");
  CHECK(at(chunks[2], "timings", "prompt_ms").number() == doctest::Approx(200));
  CHECK(at(chunks[2], "timings", "predicted_n") == Json(1));
}

TEST_CASE("a text that is to go on has no token that would end it") {
  Served served(service::test::scripted_model());
  const auto bias = [&](const char* more) {
    const Texts texts =
        texts_of(served.ask(llama::completion, R"({"prompt": "a")" + std::string(more) + "}"));
    return at(body_of(texts.writer->whole({reply_of("")})), "generation_settings", "logit_bias")
        .dump();
  };
  CHECK(bias("") == "[]");
  CHECK(bias(R"(, "ignore_eos": true)") == R"([{"token":1,"bias":null}])");
  CHECK(bias(R"(, "ignore_eos": true, "logit_bias": [[1, 5], [2, 0.5]])") ==
        R"([{"token":2,"bias":0.5},{"token":1,"bias":null}])");
}

TEST_CASE("the prompt is told as it is read, with the space before it") {
  formats::ModelFile file = service::test::scripted(service::test::kTemplate);
  file.vocabulary.model = "llama";
  file.vocabulary.tokens[8] = "\u2581a";
  file.vocabulary.scores.assign(file.vocabulary.tokens.size(), 0);
  file.vocabulary.unk = 2;
  Served served(service::test::loaded_cpu(std::move(file)));
  const Texts texts = texts_of(served.ask(llama::completion, R"({"prompt": [0, 8]})"));
  const Json body = body_of(texts.writer->whole({reply_of("")}));
  CHECK(at(body, "prompt").string() == "<|go|> a");
}
