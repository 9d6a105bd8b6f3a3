#include "api/openai/completions.h"

#include "api/sampling.h"
#include "api/testing/served.h"

using namespace puna;
using namespace puna::api;
using namespace puna::api::test;
using base::ErrorCode;
using base::Json;

TEST_CASE("every field of a completion is checked, and refused by name") {
  Served served;
  check_fields(served, openai::completions, *Json::parse(R"({"prompt": [1]})"),
               {openai::completion_fields(), answer_fields(), sampling_fields()});
}

TEST_CASE("a completion is its text") {
  Served served;
  Texts texts = texts_of(served.ask(openai::completions, R"({"prompt": [1, 2], "stream": true})"));
  CHECK(texts.requests[0].tokens == std::vector<int32_t>{1, 2});
  std::string frames = texts.writer->begin();
  frames += texts.writer->next(0, {3, " there"});
  frames += texts.writer->next(0, {3, ""});
  frames += texts.writer->end(0, reply_of(" there"));
  frames += texts.writer->finish();
  const auto chunks = chunks_of(frames);
  REQUIRE(chunks.size() == 3);
  CHECK(at(chunks[0], "choices", 0).dump() ==
        R"({"text":" there","index":0,"logprobs":null,"finish_reason":null})");
  CHECK(at(chunks[1], "choices", 0).dump() ==
        R"({"text":"","index":0,"logprobs":null,"finish_reason":"stop"})");
  CHECK(at(chunks[1], "timings", "predicted_n") == Json(5));
  Texts whole = texts_of(served.ask(openai::completions, R"({"prompt": [1, 2]})"));
  const Json body = body_of(whole.writer->whole({reply_of(" there")}));
  CHECK(at(body, "choices", 0).dump() ==
        R"({"text":" there","index":0,"logprobs":null,"finish_reason":"stop"})");
  CHECK(at(body, "object") == Json("text_completion"));
}

TEST_CASE("several prompts have several answers each") {
  Served served;
  Texts texts =
      texts_of(served.ask(openai::completions, R"({"prompt": [[1], [2]], "n": 2, "best_of": 2})"));
  REQUIRE(texts.requests.size() == 4);
  CHECK(texts.requests[1].tokens == std::vector<int32_t>{1});
  CHECK(texts.requests[2].tokens == std::vector<int32_t>{2});
  const Json body =
      body_of(texts.writer->whole({reply_of("a"), reply_of("b"), reply_of("c"), reply_of("d")}));
  CHECK(at(body, "choices", 3, "text") == Json("d"));
  CHECK(at(body, "choices", 3, "index") == Json(3));
  CHECK(at(body, "usage", "prompt_tokens") == Json(20));
  CHECK(at(body, "usage", "completion_tokens") == Json(20));
}

TEST_CASE("what a completion cannot give is refused by name") {
  Served served;
  for (const char* more : {R"("suffix": "x")", R"("suffix": "x", "echo": true)", R"("best_of": 2)",
                           R"("echo": true, "logprobs": 1)"}) {
    const auto exchange =
        served.ask(openai::completions, R"({"prompt": [1], )" + std::string(more) + "}");
    REQUIRE_FALSE(exchange.has_value());
    CHECK(exchange.error().code == ErrorCode::kUnsupported);
  }
  CHECK_FALSE(served.ask(openai::completions, "{}").has_value());
  CHECK_FALSE(served.ask(openai::completions, R"({"prompt": [1000]})").has_value());
}

TEST_CASE("an answer stands between a prompt and a suffix, for models that know how to") {
  formats::ModelFile file = service::test::scripted({});
  file.vocabulary.tokens[10] = "<|fim_prefix|>";
  file.vocabulary.tokens[11] = "<|fim_suffix|>";
  file.vocabulary.tokens[12] = "<|fim_middle|>";
  Served served(service::test::loaded_cpu(std::move(file)));
  const auto ask = [&](std::string_view body) {
    return served.ask(openai::completions, std::string(body));
  };
  const Texts texts = texts_of(ask(R"({"prompt": ["a", "aa"], "suffix": "aa"})"));
  CHECK(texts.requests.at(0).tokens == std::vector<int32_t>{10, 8, 11, 8, 8, 12});
  CHECK(texts.requests.at(1).tokens == std::vector<int32_t>{10, 8, 8, 11, 8, 8, 12});
  CHECK(texts.requests.at(0).prompt.empty());
  CHECK(ask(R"({"prompt": "a", "suffix": ""})").has_value());
  CHECK(ask(R"({"prompt": [8], "suffix": "a"})").error().code == ErrorCode::kUnsupported);
}

TEST_CASE("a completion repeats its prompt, and gives ids and probabilities, as it is asked") {
  Served served(service::test::scripted_model());
  Texts echo = texts_of(
      served.ask(openai::completions, R"({"prompt": [8, 0], "echo": true, "stream": true})"));
  CHECK(at(chunks_of(echo.writer->begin())[0], "choices", 0, "text") == Json("a<|go|>"));
  CHECK(at(body_of(echo.writer->whole({reply_of("Sure.")})), "choices", 0, "text") ==
        Json("a<|go|>Sure."));

  Texts tokens = texts_of(
      served.ask(openai::completions, R"({"prompt": "a", "return_tokens": true, "stream": true})"));
  CHECK(at(chunks_of(tokens.writer->next(0, {3, ""}))[0], "tokens").dump() == "[3]");
  CHECK(at(chunks_of(tokens.writer->next(0, {-1, "rest"}))[0], "tokens").items().empty());
  CHECK(tokens.writer->next(0, {-1, ""}).empty());

  Texts probable = texts_of(served.ask(openai::completions, R"({"prompt": "a", "logprobs": 1})"));
  service::Reply reply = reply_of("aSure.");
  reply.chosen = {{8, -0.5f, {{2, -0.25f}}}, {2, -0.25f, {{2, -0.25f}}}};
  Json logprobs = at(body_of(probable.writer->whole({reply})), "choices", 0, "logprobs");
  CHECK(at(logprobs, "tokens").dump() == R"(["a","Sure."])");
  CHECK(at(logprobs, "token_logprobs").dump() == "[-0.5,-0.25]");
  CHECK(at(logprobs, "top_logprobs").dump() == R"([{"Sure.":-0.25},{"Sure.":-0.25}])");
  CHECK(at(logprobs, "text_offset").dump() == "[0,1]");
  CHECK(at(logprobs, "content", 1, "id") == Json(2));
}
