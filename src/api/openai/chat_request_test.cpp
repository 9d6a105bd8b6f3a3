#include "api/openai/chat_request.h"

#include <doctest/doctest.h>

#include "service/testing/fake_model.h"
#include "service/testing/scripted_model.h"

using namespace puna;
using namespace puna::api;
using namespace puna::api::openai;
using base::ErrorCode;
using base::Json;

namespace {

base::Result<Chat> read(std::string_view text) {
  static const service::LoadedModel kModel = service::test::fake_model().model;
  const auto json = Json::parse(text);
  REQUIRE_MESSAGE(json.has_value(), json.error().text());
  return read_chat(*json, kModel);
}
base::Error chat_error(std::string_view text) {
  const auto chat = read(text);
  REQUIRE_MESSAGE(!chat.has_value(), text);
  return chat.error();
}

constexpr std::string_view kHello = R"({"messages": [{"role": "user", "content": "Hi"}], )";
std::string hello(std::string_view more) { return std::string(kHello) + std::string(more) + "}"; }

}  // namespace

TEST_CASE("a chat request brings its messages and settings") {
  const auto chat = read(R"({
    "model": "tiny", "stream": true, "stream_options": {"include_usage": true},
    "messages": [{"role": "developer", "content": "Be brief."},
                 {"role": "user", "content": [{"type": "text", "text": "Hel"}, {"type": "text", "text": "lo"}]},
                 {"role": "assistant", "content": null, "tool_calls": [{"id": "x"}]}],
    "temperature": 0.5, "top_p": 0.9, "top_k": 7, "min_p": 0, "seed": 11, "max_tokens": 3, "max_completion_tokens": 4,
    "stop": "END", "presence_penalty": 0.1, "frequency_penalty": 0.2, "repeat_penalty": 1.1, "repeat_last_n": 9,
    "logit_bias": {"5": -100, "6": 1.5},
    "tools": [{"type": "function", "function": {"name": "f", "strict": false}}],
    "ignore_eos": true, "n": 3, "parallel_tool_calls": false, "sse_ping_interval": 2,
    "chat_template_kwargs": {"enable_thinking": false, "style": "short"}, "user": "someone", "unheard_of": 1})");
  REQUIRE_MESSAGE(chat.has_value(), chat.error().text());
  CHECK(chat->answer.stream);
  CHECK(chat->answer.n == 3);
  CHECK(chat->answer.ping_seconds == 2);
  CHECK(chat->include_usage);
  CHECK(chat->form.one_call);
  CHECK_FALSE(chat->form.top_logprobs.has_value());
  const service::Request& request = chat->answer.request;
  REQUIRE(request.messages.size() == 3);
  CHECK(request.messages[0].role == "system");
  CHECK(request.messages[1].content == "Hello");
  CHECK(request.messages[2].content.empty());
  CHECK(request.messages[2].fields.find("tool_calls") != nullptr);
  CHECK_FALSE(request.continue_last);
  CHECK(request.stream_arguments);
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
  CHECK(request.variables.dump() == R"({"style":"short"})");
}

TEST_CASE("what a chat request leaves out has the values of puna run") {
  const auto chat = read(hello(R"("temperature": null)"));
  REQUIRE(chat.has_value());
  const kernels::SamplingParams usual;
  const service::Request& request = chat->answer.request;
  CHECK(request.sampling.temperature == usual.temperature);
  CHECK(request.sampling.top_k == usual.top_k);
  CHECK(!request.max_tokens.has_value());
  CHECK(!chat->answer.stream);
  CHECK(request.tools.is_null());
  CHECK_FALSE(request.stream_arguments);
  // Seeds are drawn: two requests with the same one would be a rare chance.
  CHECK(request.sampling.seed != read(hello(R"("n": 1)"))->answer.request.sampling.seed);
  CHECK(read(hello(R"("max_tokens": 0)"))->answer.request.max_tokens == 0);
  CHECK_FALSE(read(hello(R"("max_tokens": -1)"))->answer.request.max_tokens.has_value());
}

TEST_CASE("where thinking goes, how much of it there may be, and whether prompts are known again") {
  using service::Thinking;
  const auto request = [](std::string_view more) {
    const auto chat = read(hello(more));
    REQUIRE_MESSAGE(chat.has_value(), chat.error().text());
    return chat->answer.request;
  };
  const service::Request usual = request(R"("seed": 1)");
  CHECK(usual.thinking == Thinking::kApart);
  CHECK_FALSE(usual.max_thinking.has_value());
  CHECK(usual.reuse);
  CHECK(request(R"("reasoning_format": "none")").thinking == Thinking::kInContent);
  CHECK(request(R"("reasoning_format": "deepseek-legacy")").thinking == Thinking::kBoth);
  CHECK(request(R"("reasoning_format": "deepseek")").thinking == Thinking::kApart);
  const service::Request bounded =
      request(R"("reasoning_budget_tokens": 7, "reasoning_budget_message": "Enough.")");
  CHECK(bounded.max_thinking == 7u);
  CHECK(bounded.thinking_message == "Enough.");
  CHECK(request(R"("thinking_budget_tokens": 0)").max_thinking == 0u);
  CHECK_FALSE(request(R"("reasoning_budget_tokens": -1)").max_thinking.has_value());
  CHECK_FALSE(request(R"("cache_prompt": false)").reuse);
}

TEST_CASE("wrong fields of a chat request are named") {
  const std::pair<const char*, const char*> cases[] = {
      {R"({"messages": []})", "\"messages\" is []"},
      {R"({})", "\"messages\" is null"},
      {R"({"messages": [{"content": "Hi"}]})", "role"},
      {R"({"messages": [{"role": "user", "content": 5}]})", "\"content\" is 5"},
      {R"({"messages": ["Hi"]})", "list of objects. - While reading message 0"},
      {R"({"messages": [{"role": "user"}, {"role": "user", "content": 5}]})",
       "While reading message 1"}};
  for (const auto& [text, part] : cases)
    CHECK_MESSAGE(chat_error(text).text().find(part) != std::string::npos, chat_error(text).text());
  const std::pair<const char*, const char*> fields[] = {
      {R"("temperature": "hot")", "\"temperature\" is \"hot\""},
      {R"("temperature": -1)", "\"temperature\" is -1"},
      {R"("top_p": 5)", "from 0 to 1"},
      {R"("top_k": -1)", "\"top_k\" is -1"},
      {R"("seed": 1.5)", "\"seed\" is 1.5"},
      {R"("max_tokens": "all")", "\"max_tokens\""},
      {R"("max_tokens": -2)", "\"max_tokens\""},
      {R"("n": 17)", "from 1 to 16"},
      {R"("stop": [1])", "\"stop\""},
      {R"("stop": "")", "\"stop\""},
      {R"("stream": 1)", "\"stream\""},
      {R"("stream_options": {"include_usage": 1})", "\"include_usage\""},
      {R"("logprobs": 1)", "\"logprobs\""},
      {R"("top_logprobs": 1)", "\"logprobs\" is not true"},
      {R"("logprobs": true, "top_logprobs": 21)", "from 0 to 20"},
      {R"("tools": {})", "\"tools\""},
      {R"("tools": [{}])", "\"tools\""},
      {R"("tools": [{"type": "function", "function": {"name": ""}}])", "\"tools\""},
      {R"("tools": [{"type": "function", "function": {"name": "f", "strict": 1}}])",
       "\"strict\" is 1"},
      {R"("tool_choice": 5)", "\"tool_choice\" is 5"},
      {R"("tool_choice": "some")", "\"tool_choice\""},
      {R"("tool_choice": {"type": "function"})", "\"tool_choice\""},
      {R"("tool_choice": {"type": "function", "function": {"name": "f"}})",
       "names \"f\", which is none of the tools"},
      {R"("chat_template_kwargs": {"enable_thinking": 1})", "enable_thinking"},
      {R"("add_generation_prompt": true, "continue_final_message": true)",
       "\"continue_final_message\""},
      {R"("reasoning_format": "some")", "\"reasoning_format\""},
      {R"("reasoning_effort": "some")", "\"reasoning_effort\""}};
  for (const auto& [text, part] : fields) {
    const base::Error error = chat_error(hello(text));
    CHECK_MESSAGE(error.code == ErrorCode::kInvalidArgument, text);
    CHECK_MESSAGE(error.text().find(part) != std::string::npos, error.text());
  }
}

TEST_CASE("what Puna cannot do is refused by name") {
  for (const auto& [text, field] : std::initializer_list<std::pair<const char*, const char*>>{
           {R"("tool_choice": {"type": "custom", "custom": {"name": "f"}})", "\"tool_choice\""},
           {R"("tools": [{"type": "web_search"}])", "\"tools\""}}) {
    const base::Error error = chat_error(hello(text));
    CHECK_MESSAGE(error.code == ErrorCode::kUnsupported, text);
    CHECK_MESSAGE(error.text().find(field) != std::string::npos, error.text());
  }
}

TEST_CASE("a part that lacks its picture is refused") {
  const base::Error error =
      chat_error(R"({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]})");
  CHECK(error.code == ErrorCode::kInvalidArgument);
  CHECK_MESSAGE(error.text().find("image_url") != std::string::npos, error.text());
}

TEST_CASE("a message with many members is read one by one, and variables are not so many") {
  std::string members;
  for (int i = 0; i < 100'000; ++i) members += fmt::format(R"(, "member {}": {})", i, i);
  const auto chat = read(R"({"messages": [{"role": "user", "content": "Hi")" + members + "}]}");
  REQUIRE_MESSAGE(chat.has_value(), chat.error().text());
  CHECK(chat->answer.request.messages[0].fields.members().size() == 100'000);
  CHECK(chat_error(hello(R"("chat_template_kwargs": {)" + members.substr(1) + "}")).message ==
        "The field \"chat_template_kwargs\" has 100000 members, but at most 1000 are possible.");
  std::string tools;
  for (int i = 0; i < 1001; ++i) tools += R"(, {"type": "function", "name": "f"})";
  CHECK(chat_error(hello(R"("tools": [{"type": "function", "function": {"name": "f"}}],
      "tool_choice": {"type": "allowed_tools", "mode": "auto", "tools": [)" +
                         tools.substr(1) + "]}"))
            .message.contains("1001 tools"));
}

TEST_CASE("tools are left out where none may be called") {
  const auto chat = read(hello(
      R"("tools": [{"type": "function", "function": {"name": "f"}}], "tool_choice": "none")"));
  REQUIRE(chat.has_value());
  CHECK(chat->answer.request.tools.is_null());
}

TEST_CASE("a choice of tools is required calls, one of a name, or some of the tools") {
  const auto choice = [](std::string_view text) {
    const auto chat = read(hello(std::string(R"("tools": [
        {"type": "function", "function": {"name": "f", "strict": true}},
        {"type": "function", "function": {"name": "g"}}], )") +
                                 std::string(text)));
    REQUIRE_MESSAGE(chat.has_value(), chat.error().text());
    CHECK(chat->answer.request.tools.items().size() == 2);
    return chat->answer.request.tool_choice;
  };
  CHECK_FALSE(choice(R"("tool_choice": "auto")").required);
  CHECK(choice(R"("tool_choice": "required")").required);
  CHECK_FALSE(choice(R"("tool_choice": "required")").one_call);
  CHECK(choice(R"("tool_choice": "required", "parallel_tool_calls": false)").one_call);
  const service::ToolChoice named =
      choice(R"("tool_choice": {"type": "function", "function": {"name": "g"}})");
  CHECK(named.required);
  CHECK(named.one_call);
  CHECK(named.names == std::vector<std::string>{"g"});
  const service::ToolChoice some = choice(R"("tool_choice": {"type": "allowed_tools",
      "allowed_tools": {"mode": "auto", "tools": [{"type": "function", "function": {"name": "f"}}]}})");
  CHECK_FALSE(some.required);
  CHECK(some.names == std::vector<std::string>{"f"});
}

TEST_CASE("a last message of the assistant is continued unless the request says otherwise") {
  const auto goes_on = [](std::string_view last, std::string_view more) {
    const auto chat = read(
        fmt::format(R"({{"messages": [{{"role": "user", "content": "Hi"}}, {}]{}}})", last, more));
    REQUIRE_MESSAGE(chat.has_value(), chat.error().text());
    return chat->answer.request.continue_last;
  };
  constexpr std::string_view kSaid = R"({"role": "assistant", "content": "We"})";
  CHECK(goes_on(kSaid, ""));
  CHECK(goes_on(kSaid, R"(, "continue_final_message": true, "add_generation_prompt": false)"));
  CHECK_FALSE(goes_on(kSaid, R"(, "continue_final_message": false)"));
  CHECK_FALSE(goes_on(R"({"role": "assistant", "tool_calls": []})", ""));
  CHECK_FALSE(goes_on(R"({"role": "user", "content": "We"})", ""));
  const auto two = [&](std::string_view more) {
    return read(fmt::format(R"({{"messages": [{}, {}]{}}})", kSaid, kSaid, more));
  };
  REQUIRE_FALSE(two("").has_value());
  CHECK(two("").error().code == ErrorCode::kInvalidArgument);
  CHECK(two(R"(, "continue_final_message": false)").has_value());
}

TEST_CASE("probabilities are asked for by logprobs, and by n_probs") {
  const auto plain = read(hello(R"("logprobs": true)"));
  CHECK(plain->form.top_logprobs == 0);
  CHECK(plain->answer.request.sampling.n_probs == 1);
  CHECK(read(hello(R"("logprobs": true, "top_logprobs": 5)"))->form.top_logprobs == 5);
  CHECK(read(hello(R"("n_probs": 5)"))->form.top_logprobs == 5);
  CHECK_FALSE(read(hello(R"("logprobs": false)"))->form.top_logprobs.has_value());
}

TEST_CASE("earlier thinking stands where the model's template looks for it") {
  const service::LoadedModel model =
      service::test::scripted_model("<|channel|><|message|>{{ messages[0].thinking }} developer");
  const auto chat = read_chat(
      *Json::parse(
          R"({"messages": [{"role": "developer", "content": "x", "reasoning_content": "Hm"}]})"),
      model);
  REQUIRE_MESSAGE(chat.has_value(), chat.error().text());
  const chat::Message& message = chat->answer.request.messages[0];
  CHECK(message.fields.dump() == R"({"thinking":"Hm"})");
  CHECK(message.role == "developer");  // this template knows the name
}
