#include "api/openai/request.h"

#include <doctest/doctest.h>

#include <cmath>

using namespace puna;
using namespace puna::api::openai;
using base::ErrorCode;
using base::Json;

namespace {

Json json(std::string_view text) {
  auto parsed = Json::parse(text);
  REQUIRE_MESSAGE(parsed.has_value(), parsed.error().text());
  return *std::move(parsed);
}

base::Error chat_error(std::string_view text) {
  const auto parsed = parse_chat(json(text));
  REQUIRE_MESSAGE(!parsed.has_value(), text);
  return parsed.error();
}

constexpr std::string_view kHello = R"({"messages": [{"role": "user", "content": "Hi"}], )";
std::string hello(std::string_view more) { return std::string(kHello) + std::string(more) + "}"; }

}  // namespace

TEST_CASE("a chat request brings its messages and settings") {
  const auto chat = parse_chat(json(R"({
    "model": "tiny", "stream": true, "stream_options": {"include_usage": true},
    "messages": [{"role": "system", "content": "Be brief."},
                 {"role": "user", "content": [{"type": "text", "text": "Hel"}, {"type": "text", "text": "lo"}]},
                 {"role": "assistant", "content": null, "tool_calls": [{"id": "x"}]}],
    "temperature": 0.5, "top_p": 0.9, "top_k": 7, "min_p": 0, "seed": 11, "max_tokens": 3, "max_completion_tokens": 4,
    "stop": "END", "presence_penalty": 0.1, "frequency_penalty": 0.2, "repeat_penalty": 1.1, "repeat_last_n": 9,
    "logit_bias": {"5": -100, "6": 1.5}, "tools": [{"type": "function"}], "ignore_eos": true,
    "chat_template_kwargs": {"enable_thinking": false}, "user": "someone", "unheard_of": 1})"));
  REQUIRE_MESSAGE(chat.has_value(), chat.error().text());
  CHECK(chat->model == "tiny");
  CHECK(chat->stream);
  CHECK(chat->include_usage);
  const service::Request& request = chat->request;
  REQUIRE(request.messages.size() == 3);
  CHECK(request.messages[0].role == "system");
  CHECK(request.messages[1].content == "Hello");
  CHECK(request.messages[2].content.empty());
  CHECK(request.messages[2].fields.find("tool_calls") != nullptr);
  CHECK(request.sampling.temperature == 0.5f);
  CHECK(request.sampling.top_p == 0.9f);
  CHECK(request.sampling.top_k == 7);
  CHECK(request.sampling.min_p == 0);
  CHECK(request.sampling.seed == 11);
  CHECK(request.sampling.presence_penalty == 0.1f);
  CHECK(request.sampling.frequency_penalty == 0.2f);
  CHECK(request.sampling.repeat_penalty == 1.1f);
  CHECK(request.sampling.repeat_last == 9);
  CHECK(request.sampling.logit_bias ==
        std::vector<std::pair<int32_t, float>>{{5, -100.0f}, {6, 1.5f}});
  CHECK(request.max_tokens == 4);
  CHECK(request.stop == std::vector<std::string>{"END"});
  CHECK(request.tools.items().size() == 1);
  CHECK(request.ignore_end);
  CHECK(request.think == service::Think::kOff);
}

TEST_CASE("what a chat request leaves out has the values of puna run") {
  const auto chat = parse_chat(json(hello(R"("temperature": null)")));
  REQUIRE(chat.has_value());
  const kernels::SamplingParams usual;
  CHECK(chat->request.sampling.temperature == usual.temperature);
  CHECK(chat->request.sampling.top_k == usual.top_k);
  CHECK(!chat->request.max_tokens.has_value());
  CHECK(!chat->stream);
  CHECK(chat->request.tools.is_null());
  // Seeds are drawn: two requests with the same one would be a rare chance.
  const auto other = parse_chat(json(hello(R"("n": 1)")));
  CHECK(chat->request.sampling.seed != other->request.sampling.seed);
}

TEST_CASE("wrong fields of a chat request are named") {
  const std::pair<const char*, const char*> cases[] = {
      {R"({"messages": []})", "\"messages\" is []"},
      {R"({})", "\"messages\" is null"},
      {R"({"messages": [{"content": "Hi"}]})", "role"},
      {R"({"messages": [{"role": "user", "content": 5}]})", "\"content\" is 5"},
      {R"({"messages": ["Hi"]})", "list of objects"}};
  for (const auto& [text, part] : cases)
    CHECK_MESSAGE(chat_error(text).text().find(part) != std::string::npos, chat_error(text).text());
  const std::pair<const char*, const char*> fields[] = {
      {R"("temperature": "hot")", "\"temperature\" is \"hot\""},
      {R"("temperature": -1)", "emperature"},
      {R"("top_p": 5)", "top"},
      {R"("top_k": -1)", "\"top_k\" is -1"},
      {R"("seed": 1.5)", "\"seed\" is 1.5"},
      {R"("max_tokens": "all")", "\"max_tokens\""},
      {R"("stop": [1])", "\"stop\""},
      {R"("stream": 1)", "\"stream\""},
      {R"("logit_bias": {"x": 1})", "\"logit_bias\""},
      {R"("tools": {})", "\"tools\""},
      {R"("reasoning_effort": "some")", "\"reasoning_effort\""}};
  for (const auto& [text, part] : fields) {
    const base::Error error = chat_error(hello(text));
    CHECK_MESSAGE(error.code == ErrorCode::kInvalidArgument, text);
    CHECK_MESSAGE(error.text().find(part) != std::string::npos, error.text());
  }
}

TEST_CASE("what Puna cannot do is refused by name") {
  for (const auto& [text, field] : std::initializer_list<std::pair<const char*, const char*>>{
           {R"("n": 2)", "\"n\""},
           {R"("logprobs": true)", "\"logprobs\""},
           {R"("response_format": {"type": "json_object"})", "\"response_format\""},
           {R"("tool_choice": "required")", "\"tool_choice\""},
           {R"("grammar": "root ::= x")", "\"grammar\""}}) {
    const base::Error error = chat_error(hello(text));
    CHECK_MESSAGE(error.code == ErrorCode::kUnsupported, text);
    CHECK_MESSAGE(error.text().find(field) != std::string::npos, error.text());
  }
  CHECK(
      chat_error(R"({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]})").code ==
      ErrorCode::kUnsupported);
}

TEST_CASE("tools are left out where none may be called") {
  const auto chat = parse_chat(json(hello(R"("tools": [{}], "tool_choice": "none")")));
  REQUIRE(chat.has_value());
  CHECK(chat->request.tools.is_null());
}

TEST_CASE("a completion takes a text or token ids") {
  const auto text =
      parse_completion(json(R"({"prompt": "Once", "max_tokens": 0, "temperature": 0})"));
  REQUIRE(text.has_value());
  CHECK(text->request.prompt == "Once");
  CHECK(text->request.max_tokens == 0);
  const auto ids = parse_completion(json(R"({"prompt": [1, 2, 3]})"));
  REQUIRE(ids.has_value());
  CHECK(ids->request.tokens == std::vector<int32_t>{1, 2, 3});
  CHECK(!parse_completion(json(R"({"prompt": [1, -2]})")).has_value());
  CHECK(!parse_completion(json(R"({})")).has_value());
  CHECK(!parse_completion(json("[]")).has_value());
}

TEST_CASE("embeddings are asked for by texts or token ids") {
  CHECK(parse_embeddings(json(R"({"input": "a"})"))->texts == std::vector<std::string>{"a"});
  CHECK(parse_embeddings(json(R"({"input": ["a", "b"]})"))->texts.size() == 2);
  CHECK(parse_embeddings(json(R"({"input": [1, 2]})"))->tokens ==
        std::vector<std::vector<int32_t>>{{1, 2}});
  CHECK(parse_embeddings(json(R"({"input": [[1], [2]]})"))->tokens.size() == 2);
  CHECK(!parse_embeddings(json(R"({"input": []})")).has_value());
  CHECK(!parse_embeddings(json(R"({"input": {"a": 1}})")).has_value());
  CHECK(parse_embeddings(json(R"({"input": "a", "encoding_format": "base64"})")).error().code ==
        ErrorCode::kUnsupported);
}
