#include "api/openai/response_request.h"

#include <doctest/doctest.h>

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/openai/response_input.h"
#include "api/openai/responses.h"
#include "api/sampling.h"
#include "api/testing/talks.h"
#include "api/tool_choice.h"

using namespace puna;
using namespace puna::api;
using namespace puna::api::openai;
using namespace puna::api::test;
using base::ErrorCode;
using base::Json;
using service::Think;

namespace {

Json hi() { return json(R"({"input": "Hi"})"); }
Json saying(std::string_view items) { return with(hi(), "input", json(items)); }

// A message as "role: content {other members}".
std::string shown(const chat::Message& message) {
  std::string out = message.role + ": " + message.content;
  return message.fields.is_null() ? out : out + " " + message.fields.dump();
}
std::vector<std::string> conversation(Talks& served, const Json& body) {
  std::vector<std::string> out;
  for (const chat::Message& each : served.request(responses, body).messages)
    out.push_back(shown(each));
  return out;
}
using Lines = std::vector<std::string>;

}  // namespace

TEST_CASE("every field of a response is checked, and refused by name") {
  Talks served;
  const std::vector<Field> answer = rows_beside(answer_fields(), response_fields());
  check_fields(served, responses, hi(),
               {response_fields(), tool_choice_fields(), answer, sampling_fields()});
  check_fields(served, response_input_tokens, hi(), {response_fields()});
}

TEST_CASE("a request for a response says all that a request may say") {
  Talks served;
  const Json body = json(R"({
    "model": "fake", "instructions": "Be brief.", "input": "Hello", "stream": true,
    "max_output_tokens": 4, "max_tokens": 9, "temperature": 0.5, "top_p": 0.9, "top_k": 7, "min_p": 0, "seed": 11,
    "stop": "END", "sse_ping_interval": 2, "parallel_tool_calls": false, "tool_choice": "auto",
    "tools": [{"type": "function", "name": "f", "description": "Does.", "parameters": {"type": "object"},
               "strict": false}, {"type": "function", "name": "g", "parameters": null, "strict": null}],
    "reasoning": {"effort": "high", "summary": "auto"}, "text": {"format": {"type": "text"}, "verbosity": "low"},
    "chat_template_kwargs": {"style": "short"}, "include": ["reasoning.encrypted_content"],
    "truncation": "disabled", "store": true, "background": false, "metadata": {"a": "b"}, "user": "someone",
    "service_tier": "auto", "prompt_cache_key": "k", "safety_identifier": "s", "previous_response_id": null,
    "stream_options": {"include_obfuscation": false}, "max_tool_calls": 3, "unheard_of": 1})");
  const Texts texts = served.texts(responses, body);
  CHECK(texts.stream);
  CHECK(texts.ping_seconds == 2);
  REQUIRE(texts.requests.size() == 1);
  const service::Request& request = texts.requests[0];
  REQUIRE(request.messages.size() == 2);
  CHECK(shown(request.messages[0]) == "system: Be brief.");
  CHECK(shown(request.messages[1]) == "user: Hello");
  CHECK_FALSE(request.continue_last);
  CHECK(request.stream_arguments);
  CHECK(request.max_tokens == 4);
  CHECK(request.sampling.temperature == 0.5f);
  CHECK(request.sampling.top_p == 0.9f);
  CHECK(request.sampling.top_k == 7);
  CHECK(request.sampling.min_p == 0);
  CHECK(request.sampling.seed == 11);
  CHECK(request.sampling.n_probs == 0);
  CHECK(request.stop == std::vector<std::string>{"END"});
  CHECK(request.think == Think::kHigh);
  CHECK(request.variables.dump() == R"({"style":"short"})");
  CHECK(request.tools ==
        json(R"([{"type": "function", "function": {"name": "f", "description": "Does.",
                                                   "parameters": {"type": "object"}}},
                 {"type": "function", "function": {"name": "g"}}])"));

  const auto read = read_response_request(body, served.model->loaded());
  REQUIRE_MESSAGE(read.has_value(), read.error().text());
  CHECK(read->form.one_call);
  CHECK_FALSE(read->form.top_logprobs.has_value());
  Json settings = json(R"({
    "instructions": "Be brief.", "max_output_tokens": 4, "metadata": {"a": "b"}, "parallel_tool_calls": false,
    "temperature": 0.5, "top_p": 0.9, "top_logprobs": 0, "tool_choice": "auto", "tools": [],
    "text": {"format": {"type": "text"}}, "reasoning": {"effort": "high", "summary": null},
    "truncation": "disabled", "store": false, "background": false, "previous_response_id": null})");
  settings.set("tools", *body.find("tools"));
  CHECK(read->form.settings == settings);
}

TEST_CASE("what a request for a response leaves out has the values of puna run") {
  Talks served;
  const auto read = read_response_request(hi(), served.model->loaded());
  REQUIRE_MESSAGE(read.has_value(), read.error().text());
  const service::Request& request = read->answer.request;
  const kernels::SamplingParams usual;
  CHECK(request.sampling.temperature == usual.temperature);
  CHECK_FALSE(request.max_tokens.has_value());
  CHECK(request.tools.is_null());
  CHECK(request.think == Think::kDefault);
  CHECK_FALSE(request.stream_arguments);
  CHECK_FALSE(read->answer.stream);
  CHECK_FALSE(read->form.one_call);
  CHECK(at(read->form.settings, "tools") == Json::array());
  CHECK(at(read->form.settings, "tool_choice") == Json("auto"));
  CHECK(at(read->form.settings, "metadata") == Json::object());
  CHECK(at(read->form.settings, "max_output_tokens").is_null());
  CHECK(at(read->form.settings, "instructions").is_null());
  CHECK(served.request(responses, with(hi(), "max_output_tokens", 0)).max_tokens == 0);
  CHECK_FALSE(served.request(responses, with(hi(), "max_output_tokens", -1)).max_tokens);
}

TEST_CASE("items become messages, and what the assistant did in one turn is one of them") {
  Talks served;
  CHECK(
      conversation(served, saying(R"([
    {"role": "user", "content": [{"type": "input_text", "text": "Wea"}, {"type": "input_text", "text": "ther?"}]},
    {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "No"}],
     "content": [{"type": "reasoning_text", "text": "Hm"}], "encrypted_content": null, "status": "completed"},
    {"type": "message", "id": "msg_1", "status": "completed", "role": "assistant", "phase": "commentary",
     "content": [{"type": "output_text", "text": "Let me", "annotations": [], "logprobs": []},
                 {"type": "refusal", "refusal": " see."}]},
    {"type": "function_call", "id": "fc_1", "call_id": "call_abc123def", "name": "weather",
     "arguments": "{\"city\": \"Rome\"}", "status": "completed"},
    {"type": "function_call", "call_id": "call_x", "name": "time", "arguments": "{}"},
    {"type": "function_call_output", "call_id": "call_x", "output": "Noon"},
    {"type": "function_call_output", "id": "fco", "call_id": "call_abc123def", "status": "completed",
     "output": [{"type": "input_text", "text": "Sun"}, {"type": "input_text", "text": "ny"}]},
    {"type": "reasoning", "id": "rs_2", "summary": [{"type": "summary_text", "text": "Short"}]},
    {"type": "reasoning", "id": "rs_3", "summary": [], "content": [{"type": "reasoning_text", "text": "Long"}]},
    {"type": "message", "role": "assistant", "content": "Sunny."},
    {"role": "assistant", "content": "At noon."},
    {"type": "message", "role": "user", "content": "Thanks"}, {"role": "user", "content": "!"}])")) ==
      Lines{
          "user: Weather?",
          std::string(R"(assistant: Let me see. {"reasoning_content":"Hm","tool_calls":[)") +
              R"({"id":"abc123def","type":"function","function":{"name":"weather","arguments":"{\"city\": \"Rome\"}"}},)" +
              R"({"id":"call_x","type":"function","function":{"name":"time","arguments":"{}"}}]})",
          R"(tool: Noon {"tool_call_id":"call_x","name":"time"})",
          R"(tool: Sunny {"tool_call_id":"abc123def","name":"weather"})",
          "assistant: Sunny.\nAt noon. {\"reasoning_content\":\"Short\\nLong\"}",
          "user: Thanks",
          "user: !",
      });
}

TEST_CASE("many calls and outputs are read one by one, and an output belongs to the first call") {
  constexpr size_t kCalls = 50'000;
  Json items = Json::array();
  for (size_t i = 0; i < kCalls; ++i) {
    Json call = Json::object().add("type", "function_call").add("name", i == 0 ? "first" : "f");
    items.push(call.add("call_id", std::to_string(i)).add("arguments", "{}"));
    items.push(
        json(R"({"type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm"}]})"));
  }
  items.push(json(R"({"type": "function_call", "call_id": "0", "name": "g", "arguments": "{}"})"));
  for (size_t i = 0; i < kCalls; ++i) {
    Json output = Json::object().add("type", "function_call_output").add("output", "");
    items.push(output.add("call_id", std::to_string(i)));
  }
  const auto read = read_response_input({}, &items, {});
  REQUIRE_MESSAGE(read.has_value(), read.error().text());
  REQUIRE(read->messages.size() == 1 + kCalls);
  CHECK(at(read->messages[0].fields, "tool_calls").items().size() == kCalls + 1);
  CHECK(at(read->messages[0].fields, "reasoning_content").string().size() == 3 * kCalls - 1);
  CHECK(at(read->messages[1].fields, "name") == Json("first"));
}

TEST_CASE("instructions come first, and the system's messages behind them belong to them") {
  Talks served;
  const Json body =
      saying(R"([{"role": "developer", "content": "B"}, {"role": "system", "content": "C"},
                               {"role": "user", "content": "Hi"}, {"role": "system", "content": "D"}])");
  CHECK(conversation(served, body) == Lines{"system: B", "system: C", "user: Hi", "system: D"});
  CHECK(conversation(served, with(body, "instructions", "A")) ==
        Lines{"system: A\n\nB\n\nC", "user: Hi", "system: D"});
  CHECK(conversation(served, with(body, "instructions", "")) ==
        Lines{"system: B", "system: C", "user: Hi", "system: D"});
  // A template may know the developer, and look elsewhere for the thinking.
  Talks knows("<|channel|><|message|>{{ messages[0].thinking }} developer");
  CHECK(conversation(knows, with(saying(R"([{"role": "developer", "content": "B"},
            {"type": "reasoning", "content": [{"type": "reasoning_text", "text": "Hm"}]},
            {"role": "user", "content": "Hi"}])"),
                                 "instructions", "A")) ==
        Lines{"system: A", "developer: B", R"(assistant:  {"thinking":"Hm"})", "user: Hi"});
}

TEST_CASE("a last item of the assistant is continued, but not its calls") {
  Talks served;
  const auto goes_on = [&](std::string_view last) {
    return served
        .request(responses,
                 saying(fmt::format(R"([{{"role": "user", "content": "Hi"}}, {}])", last)))
        .continue_last;
  };
  CHECK(goes_on(R"({"role": "assistant", "content": "We"})"));
  CHECK(goes_on(R"({"type": "reasoning", "content": [{"type": "reasoning_text", "text": "Hm"}]})"));
  CHECK_FALSE(goes_on(R"({"type": "reasoning", "summary": []})"));
  CHECK_FALSE(goes_on(R"({"role": "system", "content": "We"})"));
  CHECK(served
            .error(responses, saying(R"([{"role": "user", "content": "Hi"},
                  {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}])"))
            .message ==
        "The \"input\" ends with a function_call; its function_call_output has to follow.");
}

TEST_CASE("an effort is how much a model thinks, if at all") {
  Talks served;
  const auto think = [&](const char* effort) {
    return served.request(responses, with(hi(), "reasoning", Json::object().set("effort", effort)))
        .think;
  };
  CHECK(think("none") == Think::kOff);
  CHECK(think("minimal") == Think::kLow);
  CHECK(think("low") == Think::kLow);
  CHECK(think("medium") == Think::kMedium);
  CHECK(think("high") == Think::kHigh);
  CHECK(think("xhigh") == Think::kHigh);
  CHECK(think("max") == Think::kHigh);
  CHECK(served.request(responses, with(hi(), "reasoning", json(R"({"effort": null})"))).think ==
        Think::kDefault);
}

TEST_CASE("probabilities are asked for by include, top_logprobs and n_probs") {
  Talks served;
  const auto read = [&](std::string_view fields) {
    auto out = read_response_request(json(fmt::format(R"({{"input": "Hi", {}}})", fields)),
                                     served.model->loaded());
    REQUIRE_MESSAGE(out.has_value(), out.error().text());
    return *std::move(out);
  };
  const auto plain = read(R"("include": ["message.output_text.logprobs"], "stream": true)");
  CHECK(plain.form.top_logprobs == 0);
  CHECK(plain.answer.request.sampling.n_probs == 1);
  // Else a text could come without them, as a call that is none.
  CHECK_FALSE(plain.answer.request.stream_arguments);
  const auto top = read(R"("top_logprobs": 5)");
  CHECK(top.form.top_logprobs == 5);
  CHECK(top.answer.request.sampling.n_probs == 5);
  CHECK(at(top.form.settings, "top_logprobs") == Json(5));
  CHECK(read(R"("n_probs": 3)").form.top_logprobs == 3);
  CHECK_FALSE(read(R"("top_logprobs": 0)").form.top_logprobs.has_value());
}

TEST_CASE("tools are left out where none may be called, and checked all the same") {
  Talks served;
  const Json body = json(R"({"input": "Hi", "tool_choice": "none",
                             "tools": [{"type": "function", "name": "f"}]})");
  CHECK(served.request(responses, body).tools.is_null());
  CHECK(served.error(responses, with(body, "tools", json(R"([{"type": "function"}])"))).text() ==
        "The field \"name\" is null, but has to be a name. - While reading tool 0");
}

TEST_CASE("a choice of tools is required calls, one of a name, or some of the tools") {
  Talks served;
  const Json body = json(R"({"input": "Hi", "tools": [
      {"type": "function", "name": "f", "parameters": {"type": "object"}, "strict": true},
      {"type": "function", "name": "g", "parameters": {"type": "object"}}]})");
  const auto choice = [&](std::string_view text) {
    return served.request(responses, with(body, "tool_choice", json(text))).tool_choice;
  };
  CHECK_FALSE(choice(R"("auto")").required);
  CHECK(choice(R"("required")").required);
  const service::ToolChoice named = choice(R"({"type": "function", "name": "g"})");
  CHECK(named.required);
  CHECK(named.one_call);
  CHECK(named.names == std::vector<std::string>{"g"});
  const service::ToolChoice some = choice(R"({"type": "allowed_tools", "mode": "required",
      "tools": [{"type": "function", "name": "g"}]})");
  CHECK(some.required);
  CHECK_FALSE(some.one_call);
  CHECK(some.names == std::vector<std::string>{"g"});
  const service::Request request = served.request(responses, body);
  CHECK(at(request.tools, 0, "function", "strict") == Json(true));
  CHECK(at(request.tools, 1, "function").find("strict") == nullptr);
  CHECK(served.request(responses, with(body, "parallel_tool_calls", false)).tool_choice.one_call);
}

TEST_CASE("what a body may not say is refused with its name and the item's number") {
  Talks served;
  const auto refused = [&](const Json& body) {
    const base::Error error = served.error(responses, body);
    CHECK(status_of(error.code) == 400);
    CHECK(served.error(response_input_tokens, body).text() == error.text());
    return error.text();
  };
  const auto item = [&](std::string_view text) {
    return refused(saying(fmt::format(R"([{{"role": "user", "content": "Hi"}}, {}])", text)));
  };
  const auto field = [&](const char* name, std::string_view value) {
    return refused(with(hi(), name, json(value)));
  };
  CHECK(refused(Json::array()).starts_with("The request has to be a JSON object"));
  for (const auto& [value, is] : std::initializer_list<std::pair<const char*, const char*>>{
           {"null", "null"}, {"[]", "[]"}, {"5", "5"}, {"{}", "{}"}}) {
    CHECK(field("input", value) == fmt::format("The field \"input\" is {}, but has to be a text or "
                                               "a list of at least one item.",
                                               is));
  }
  CHECK(field("input", R"([{"type": "reasoning", "summary": []}])") ==
        "The field \"input\" has no text that could be answered.");
  CHECK(item("\"Hi\"") ==
        "The field \"input\" is \"Hi\", but has to be a text or a list of objects. - While reading "
        "item 1");
  CHECK(item(R"({"content": "Hi"})") ==
        "The field \"role\" is null, but has to be a text. - While reading item 1");
  CHECK(item(R"({"role": "tool", "content": "Hi"})") ==
        "The field \"role\" is \"tool\", but has to be user, assistant, system or developer. - "
        "While reading item 1");
  CHECK(item(R"({"role": "user"})") ==
        "The field \"content\" is null, but has to be a text or a list of parts. - While reading "
        "item 1");
  CHECK(item(R"({"role": "user", "content": []})") ==
        "The field \"content\" is [], but has to be a text or a list of at least one part. - While "
        "reading item 1");
  CHECK(item(R"({"role": "user", "content": ["Hi"]})") ==
        "The field \"content\" is \"Hi\", but has to be a list of objects. - While reading item 1");
  CHECK(item(R"({"role": "user", "content": [{"text": "Hi"}]})")
            .starts_with("The field \"type\" is null, "));
  CHECK(item(R"({"role": "user", "content": [{"type": "input_text", "text": 1}]})")
            .starts_with("The field \"text\" is 1, "));
  CHECK(item(R"({"role": "user", "content": [{"type": "refusal"}]})")
            .starts_with("The field \"refusal\" is null, "));
  CHECK(item(R"({"role": "user", "content": [{"type": "input_video"}]})") ==
        "A part of type \"input_video\" is not supported in \"content\"; possible are input_text, "
        "output_text, refusal, input_image, input_audio, input_file. - While reading item 1");
  CHECK(item(R"({"role": "user", "content": [{"type": "input_image", "file_id": "f"}]})")
            .starts_with("The field \"file_id\" is not supported: no files are kept."));
  CHECK(item(R"({"role": "user", "content": [{"type": "input_file",
                 "file_data": "data:application/pdf;base64,AAAA"}]})") ==
        "The field \"file_data\" is of the type \"application/pdf\"; only pictures can be read. - "
        "While reading item 1");
  CHECK(item(R"({"type": 1})").starts_with("The field \"type\" is 1, "));
  CHECK(item(R"({"type": "item_reference", "id": "msg_1"})") ==
        "The field \"input\" is not supported: nothing is stored that an item_reference could "
        "name. - While reading item 1");
  CHECK(item(R"({"type": "web_search_call"})") ==
        "An item of type \"web_search_call\" is not supported; possible are message, "
        "function_call, function_call_output, reasoning. - While reading item 1");
  CHECK(item(R"({"type": "function_call", "name": "f", "arguments": "{}"})")
            .starts_with("The field \"call_id\" is null, "));
  CHECK(item(R"({"type": "function_call", "call_id": "c", "arguments": "{}"})")
            .starts_with("The field \"name\" is null, "));
  CHECK(item(R"({"type": "function_call", "call_id": "c", "name": "", "arguments": "{}"})")
            .starts_with("The field \"name\" is \"\", "));
  CHECK(item(R"({"type": "function_call", "call_id": "c", "name": "f", "arguments": {}})")
            .starts_with("The field \"arguments\" is {}, "));
  CHECK(item(R"({"type": "function_call_output", "output": "x"})")
            .starts_with("The field \"call_id\" is null, "));
  CHECK(item(R"({"type": "function_call_output", "call_id": "c", "output": "x"})") ==
        "The field \"call_id\" is \"c\", but has to be the call_id of a function_call before it. - "
        "While reading item 1");
  const std::string call =
      R"({"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}, )";
  CHECK(item(call + R"({"type": "function_call_output", "call_id": "c"})")
            .starts_with("The field \"output\" is null, "));
  CHECK(item(call + R"({"type": "function_call_output", "call_id": "c",
                        "output": [{"type": "input_image"}]})")
            .starts_with("The field \"image_url\" is null, "));
  CHECK(item(R"({"type": "reasoning", "content": "Hm"})")
            .starts_with("The field \"content\" is \"Hm\", "));
  CHECK(item(R"({"type": "reasoning", "content": [{"type": "output_text", "text": "Hm"}]})")
            .starts_with("A part of type \"output_text\" is not supported in \"content\"; possible "
                         "are reasoning_text."));

  CHECK(field("tools", "[1]").starts_with("The field \"tools\" is 1, "));
  CHECK(field("tools", R"([{"name": "f"}])").starts_with("The field \"type\" is null, "));
  for (const char* tool : {"web_search", "file_search", "computer", "mcp", "code_interpreter",
                           "image_generation", "local_shell", "custom"}) {
    CHECK(field("tools", fmt::format(R"([{{"type": "{}", "name": "x"}}])", tool)) ==
          fmt::format("The field \"tools\" is not supported: there is no tool of the type \"{}\"; "
                      "functions of the client's are possible. - While reading tool 0",
                      tool));
  }
  CHECK(field("tools", R"([{"type": "function", "name": "f", "parameters": []}])")
            .starts_with("The field \"parameters\" is [], "));
  CHECK(field("tools", R"([{"type": "function", "name": "f", "strict": 1}])")
            .starts_with("The field \"strict\" is 1, "));
  CHECK(field("tool_choice", R"({"type": "function", "name": "f"})") ==
        "The field \"tool_choice\" names \"f\", which is none of the tools.");
  CHECK(field("tool_choice", R"({"type": "allowed_tools", "mode": "auto", "tools": []})")
            .starts_with("The field \"tool_choice\" is {"));
  CHECK(field("tool_choice", R"({"type": "mcp"})")
            .starts_with("The field \"tool_choice\" is not supported: "));
  CHECK(field("tool_choice", R"("some")").starts_with("The field \"tool_choice\" is \"some\", "));
  CHECK(field("reasoning", R"({"effort": "some"})") ==
        "The field \"effort\" is \"some\", but has to be none, minimal, low, medium, high, xhigh "
        "or max.");
  CHECK(field("reasoning", R"({"mode": "pro"})").starts_with("The field \"mode\" is not "));
  CHECK(field("text", R"({"format": {"type": "json_schema", "name": "x"}})")
            .starts_with("The field \"format\" is of the type json_schema, but has no \"schema\""));
  CHECK(
      field("truncation", R"("auto")").starts_with("The field \"truncation\" is not supported: "));
  CHECK(field("background", "true").starts_with("The field \"background\" is not supported: "));
  CHECK(field("include", R"(["x"])").starts_with("The field \"include\" is \"x\", "));
  CHECK(field("metadata", R"({"a": 1})") == "The field \"metadata.a\" is 1, but has to be a text.");
  CHECK(field("top_logprobs", "21").find("from 0 to 20") != std::string::npos);
  CHECK(field("max_output_tokens", "-2").starts_with("The field \"max_output_tokens\" is -2, "));
}
