#include "api/anthropic/messages.h"

#include <doctest/doctest.h>

#include "api/anthropic/conversation.h"
#include "api/anthropic/count_tokens.h"
#include "api/anthropic/request.h"
#include "api/sampling.h"
#include "api/testing/talks.h"

using namespace puna;
using namespace puna::api;
using namespace puna::api::test;
using base::ErrorCode;
using base::Json;
using Kind = service::Event::Kind;
using service::Think;

namespace {

Json hi() { return json(R"({"max_tokens": 5, "messages": [{"role": "user", "content": "Hi"}]})"); }
Json saying(std::string_view messages) { return with(hi(), "messages", json(messages)); }

Json weather() {
  return json(R"([{"name": "weather", "description": "Of a city",
      "input_schema": {"type": "object"}, "cache_control": {"type": "ephemeral"}}])");
}

service::Request request_of(Talks& served, const Json& body) {
  return served.request(anthropic::messages, body);
}

// The frames of a stream between message_start and message_stop, each on a line.
std::string streamed(Talks& served, const std::vector<service::Event>& events,
                     const service::Reply& reply) {
  const Texts texts = served.texts(anthropic::messages, with(hi(), "stream", true));
  CHECK(texts.stream);
  Writer& writer = *texts.writer;
  CHECK(writer.content_type() == "text/event-stream");
  const auto begin = frames_of(writer.begin());
  REQUIRE(begin.size() == 1);
  CHECK(begin[0].event == "message_start");
  CHECK(at(begin[0].data, "message", "content") == Json::array());
  CHECK(at(begin[0].data, "message", "stop_reason").is_null());
  CHECK(at(begin[0].data, "message", "usage", "output_tokens") == Json(0));
  CHECK(at(begin[0].data, "message", "id").string().starts_with("msg_"));
  std::string text;
  for (const service::Event& event : events) text += writer.next(0, event);
  text += writer.end(0, reply);
  CHECK(writer.finish() == "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n");
  std::string out;
  for (const Frame& each : frames_of(text)) {
    CHECK(at(each.data, "type") == Json(each.event));
    out += each.data.dump() + "\n";
  }
  // Ids are drawn.
  for (size_t id = 0; (id = out.find("toolu_", id)) != std::string::npos; ++id)
    out.erase(id + 6, out.find('"', id) - id - 6);
  return out;
}

std::string started(int index, std::string_view block) {
  return fmt::format(R"({{"type":"content_block_start","index":{},"content_block":{}}})", index,
                     block) +
         "\n";
}
std::string piece(int index, std::string_view delta) {
  return fmt::format(R"({{"type":"content_block_delta","index":{},"delta":{}}})", index, delta) +
         "\n";
}
std::string stopped(int index) {
  return fmt::format(R"({{"type":"content_block_stop","index":{}}})", index) + "\n";
}
std::string ended(std::string_view reason, std::string_view sequence = "null") {
  return fmt::format(
             R"({{"type":"message_delta","delta":{{"stop_reason":"{}","stop_sequence":{}}},)"
             R"("usage":{{"input_tokens":6,"cache_creation_input_tokens":0,)"
             R"("cache_read_input_tokens":4,"output_tokens":5}}}})",
             reason, sequence) +
         "\n";
}

const chat::ToolCall kCall = {"", "weather", R"({"city": "Rome"})"};

constexpr std::string_view kTextBlock = R"({"type":"text","text":""})";
constexpr std::string_view kThinkingBlock = R"({"type":"thinking","thinking":"","signature":""})";
constexpr std::string_view kCallBlock =
    R"({"type":"tool_use","id":"toolu_","name":"weather","input":{}})";
constexpr std::string_view kSignature = R"({"type":"signature_delta","signature":""})";

}  // namespace

TEST_CASE("a message request says all that a request may say") {
  Talks served;
  const service::Request request = request_of(served, json(R"({
      "model": "scripted", "max_tokens": 7, "temperature": 0.5, "top_p": 0.25, "top_k": 3,
      "min_p": 0.5, "seed": 9, "stop_sequences": ["x", "y"], "metadata": {"user_id": "u"},
      "system": [{"type": "text", "text": "Be", "cache_control": {"type": "ephemeral"}},
                 {"type": "text", "text": "kind"}],
      "messages": [{"role": "user", "content": "Hi"}]})"));
  CHECK(request.max_tokens == 7);
  CHECK(request.sampling.temperature == 0.5f);
  CHECK(request.sampling.top_p == 0.25f);
  CHECK(request.sampling.top_k == 3);
  CHECK(request.sampling.min_p == 0.5f);
  CHECK(request.sampling.seed == 9);
  CHECK(request.stop == std::vector<std::string>{"x", "y"});
  CHECK_FALSE(request.continue_last);
  REQUIRE(request.messages.size() == 2);
  CHECK(request.messages[0].role == "system");
  CHECK(request.messages[0].content == "Be\nkind");
  CHECK(request.messages[1].role == "user");
  CHECK(request.messages[1].content == "Hi");
}

TEST_CASE("a round of tools becomes calls and messages of the role tool") {
  Talks served;
  const service::Request request = request_of(served, with(saying(R"([
          {"role": "user", "content": [{"type": "text", "text": "In Rome"},
                                       {"type": "text", "text": "and Oslo?"}]},
          {"role": "assistant", "content": [
              {"type": "thinking", "thinking": "Hm", "signature": ""},
              {"type": "redacted_thinking", "data": "…"},
              {"type": "text", "text": "Wait."},
              {"type": "tool_use", "id": "t1", "name": "weather", "input": {"city": "Rome"}},
              {"type": "tool_use", "id": "t2", "name": "weather", "input": {"city": "Oslo"}}]},
          {"role": "user", "content": [
              {"type": "tool_result", "tool_use_id": "t2", "content": "cold"},
              {"type": "tool_result", "tool_use_id": "t1", "is_error": true,
               "content": [{"type": "text", "text": "no"}, {"type": "text", "text": "city"}]},
              {"type": "text", "text": "So?"}]},
          {"role": "user", "content": "Well?"}])"),
                                                           "tools", weather()));
  REQUIRE(request.messages.size() == 5);
  CHECK(request.messages[0].content == "In Rome\nand Oslo?");
  const chat::Message& called = request.messages[1];
  CHECK(called.role == "assistant");
  CHECK(called.content == "Wait.");
  CHECK(at(called.fields, "reasoning_content") == Json("Hm"));
  CHECK(at(called.fields, "tool_calls", 0) == json(R"({"id": "t1", "type": "function",
                 "function": {"name": "weather", "arguments": "{\"city\":\"Rome\"}"}})"));
  CHECK(at(called.fields, "tool_calls", 1, "id") == Json("t2"));
  CHECK(request.messages[2].role == "tool");
  CHECK(request.messages[2].content == "cold");
  CHECK(request.messages[2].fields == json(R"({"tool_call_id": "t2", "name": "weather"})"));
  CHECK(request.messages[3].content == "Error: no\ncity");
  CHECK(request.messages[4].role == "user");
  CHECK(request.messages[4].content == "So?\nWell?");
  CHECK(request.tools == json(R"([{"type": "function", "function": {"name": "weather",
      "description": "Of a city", "parameters": {"type": "object"}}}])"));
  CHECK_FALSE(request.stream_arguments);
}

TEST_CASE(
    "tools are offered unless tool_choice is none, and arguments stream where a tool says so") {
  Talks served;
  const Json body = with(hi(), "tools", weather());
  const auto choosing = [&](std::string_view choice) {
    return with(body, "tool_choice", json(choice));
  };
  CHECK(request_of(served, choosing(R"({"type": "none"})")).tools.is_null());
  CHECK(request_of(served, choosing(R"({"type": "auto", "disable_parallel_tool_use": false})"))
            .tools.is_array());
  const auto choice = [&](std::string_view text) {
    return request_of(served, choosing(text)).tool_choice;
  };
  CHECK_FALSE(choice(R"({"type": "auto"})").required);
  CHECK(choice(R"({"type": "auto", "disable_parallel_tool_use": true})").one_call);
  CHECK(choice(R"({"type": "any"})").required);
  CHECK_FALSE(choice(R"({"type": "any"})").one_call);
  const service::ToolChoice named = choice(R"({"type": "tool", "name": "weather"})");
  CHECK(named.required);
  CHECK(named.one_call);
  CHECK(named.names == std::vector<std::string>{"weather"});
  const auto wrong = [&](std::string_view text) {
    return served.error(anthropic::messages, choosing(text)).message;
  };
  CHECK(wrong(R"({"type": "tool"})").starts_with("The field \"name\" is null"));
  CHECK(wrong(R"({"type": "tool", "name": "x"})") ==
        "The field \"tool_choice\" names \"x\", which is none of the tools.");
  const Json tools = weather();
  const Json& tool = at(tools, 0);
  const auto offering = [&](const char* key, Json value) {
    return with(hi(), "tools", Json::array().push(with(tool, key, std::move(value))));
  };
  CHECK(request_of(served, offering("eager_input_streaming", true)).stream_arguments);
  CHECK(request_of(served, offering("type", "custom")).tools.is_array());
  const service::Request strict = request_of(served, offering("strict", true));
  CHECK(at(strict.tools, 0, "function", "strict") == Json(true));
  CHECK(served.error(anthropic::messages, offering("type", "web_search_20250305")).text() ==
        "The field \"tools\" is not supported: tools of the type \"web_search_20250305\" are not "
        "here; the client's own (\"custom\") are possible. - While reading tool 0");
}

TEST_CASE(
    "thinking is switched where the model has a switch, and refused where it does not think") {
  Talks thinks, plain(kPlain);
  const auto think = [](Talks& served, std::string_view fields) {
    Json body = hi();
    const Json more = json(fields);
    for (const auto& [key, value] : more.members()) body.set(key, value);
    return request_of(served, body).think;
  };
  constexpr std::string_view kOn = R"({"thinking": {"type": "enabled", "budget_tokens": 2000}})";
  const Json on = json(kOn);
  CHECK(think(thinks, "{}") == Think::kDefault);
  CHECK(think(thinks, kOn) == Think::kOn);
  CHECK(think(thinks, R"({"thinking": {"type": "disabled"}})") == Think::kOff);
  CHECK(think(thinks, R"({"thinking": {"type": "adaptive"}})") == Think::kDefault);
  CHECK(think(thinks, R"({"thinking": {"type": "adaptive"},
                          "output_config": {"effort": "low"}})") == Think::kLow);
  CHECK(think(thinks, R"({"output_config": {"effort": "max"}})") == Think::kHigh);
  CHECK(think(plain, R"({"output_config": {"effort": "max"}})") == Think::kDefault);
  CHECK(think(plain, R"({"thinking": {"type": "disabled"}})") == Think::kDefault);
  CHECK(think(plain, R"({"thinking": {"type": "adaptive"}})") == Think::kDefault);
  CHECK(plain.error(anthropic::messages, with(hi(), "thinking", at(on, "thinking"))).message ==
        "The field \"thinking\" is not supported: the model scripted does not think.");
}

TEST_CASE("many calls and results are read one by one, and a result belongs to the last call") {
  constexpr size_t kCalls = 50'000;
  Json calls = Json::array(), results = Json::array();
  for (size_t i = 0; i < kCalls; ++i) {
    Json call = Json::object().add("type", "tool_use").add("name", "f");
    calls.push(call.add("id", std::to_string(i)).add("input", Json::object()));
    calls.push(json(R"({"type": "thinking", "thinking": "Hm"})"));
    Json result = Json::object().add("type", "tool_result").add("content", "");
    results.push(result.add("tool_use_id", std::to_string(i)));
  }
  calls.push(json(R"({"type": "tool_use", "id": "0", "name": "last", "input": {}})"));
  Json messages = Json::array();
  messages.push(Json::object().add("role", "assistant").add("content", std::move(calls)));
  messages.push(Json::object().add("role", "user").add("content", std::move(results)));
  const auto read = anthropic::read_conversation(nullptr, &messages, "thought");
  REQUIRE_MESSAGE(read.has_value(), read.error().text());
  REQUIRE(read->messages.size() == 1 + kCalls);
  CHECK(at(read->messages[0].fields, "tool_calls").items().size() == kCalls + 1);
  CHECK(at(read->messages[0].fields, "thought").string().size() == 3 * kCalls - 1);
  CHECK(at(read->messages[1].fields, "name") == Json("last"));
}

TEST_CASE("the tokens of thinking are bounded where thinking is asked for with a budget") {
  Talks served;
  const auto most = [&](std::string_view thinking) {
    return request_of(served, with(hi(), "thinking", json(thinking))).max_thinking;
  };
  CHECK(most(R"({"type": "enabled", "budget_tokens": 1})") == 1u);
  CHECK(most(R"({"type": "adaptive", "budget_tokens": 2000})") == 2000u);
  CHECK_FALSE(most(R"({"type": "disabled", "budget_tokens": 2000})").has_value());
  CHECK_FALSE(most(R"({"type": "enabled"})").has_value());
  for (const char* wrong : {"0", "-1", "1e10", "1.5", "\"all\""}) {
    const std::string thinking =
        std::string(R"({"type": "enabled", "budget_tokens": )") + wrong + "}";
    const base::Error error =
        served.error(anthropic::messages, with(hi(), "thinking", json(thinking)));
    CHECK(error.code == base::ErrorCode::kInvalidArgument);
    CHECK(error.message.find("\"budget_tokens\"") != std::string::npos);
  }
}

TEST_CASE("a last message of the assistant is continued, but not its calls") {
  Talks served;
  const service::Request request = request_of(served, saying(R"([
      {"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Well"}])"));
  CHECK(request.continue_last);
  CHECK(request.messages.back().content == "Well");
  CHECK(served
            .error(anthropic::messages, saying(R"([
      {"role": "user", "content": "Hi"},
      {"role": "assistant", "content": [
          {"type": "tool_use", "id": "t", "name": "weather", "input": {}}]}])"))
            .message == "The last of the \"messages\" calls tools; their results have to follow.");
}

TEST_CASE("every row of the table of messages is refused by its name where it is wrong") {
  Talks served;
  check_fields(served, anthropic::messages, hi(), {anthropic::message_fields(), sampling_fields()});
  for (const char* path : {"thinking", "output_config", "tool_choice"})
    CHECK(served.error(anthropic::messages, with(hi(), path, 1)).message.find(path) !=
          std::string::npos);
}

TEST_CASE("what a body may not say is refused with its name and the message's number") {
  Talks served;
  const auto refused = [&](const Json& body) {
    const base::Error error = served.error(anthropic::messages, body);
    CHECK(status_of(error.code) == 400);
    return error.text();
  };
  const auto block = [&](std::string_view role, std::string_view content) {
    return refused(saying(
        fmt::format(R"([{{"role": "user", "content": "Hi"}}, {{"role": "{}", "content": [{}]}}])",
                    role, content)));
  };
  CHECK(refused(json(R"({"messages": [{"role": "user", "content": "Hi"}]})")) ==
        "The field \"max_tokens\" is null, but has to be a whole number from 0 on.");
  CHECK(refused(saying("[]")) ==
        "The field \"messages\" is [], but has to be a list of at least one message.");
  CHECK(refused(json(R"({"max_tokens": 1})")) ==
        "The field \"messages\" is null, but has to be a list of at least one message.");
  CHECK(refused(saying(R"(["Hi"])")) ==
        "The field \"messages\" is \"Hi\", but has to be a list of objects. - While reading "
        "message 0");
  CHECK(refused(saying(R"([{"content": "Hi"}])")) ==
        "The field \"role\" is null, but has to be a text. - While reading message 0");
  CHECK(refused(saying(R"([{"role": "system", "content": "Hi"}])")) ==
        "The field \"role\" is \"system\", but has to be user or assistant. - While reading "
        "message 0");
  CHECK(refused(saying(R"([{"role": "user", "content": 1}])"))
            .starts_with("The field \"content\" is 1, "));
  CHECK(refused(saying(R"([{"role": "user", "content": []}])"))
            .starts_with("The field \"content\" is [], "));
  CHECK(block("user", R"({"type": "video"})") ==
        "A block of type \"video\" is not supported in a message of the user; possible are text, "
        "image, document, tool_result. - While reading message 1");
  CHECK(block("user", R"({"type": "image", "source": {}})")
            .starts_with("The field \"type\" is null, "));
  CHECK(block("user", R"({"type": "image", "source": {"type": "base64", "data": "?"}})")
            .starts_with("The field \"data\" is no base64 (1 characters)."));
  CHECK(block("user", R"({"type": "image", "source": {"type": "url", "url": "file:///a.png"}})")
            .starts_with("The field \"url\" begins with \"file:///a.png\", but "));
  CHECK(block("user", R"({"type": "document", "source": {"type": "base64",
                          "media_type": "application/pdf", "data": "AAAA"}})") ==
        "A document whose source is of the type \"base64\" (application/pdf) cannot be read; "
        "possible are text and content. - While reading message 1");
  CHECK(block("user", R"({"type": "tool_result", "tool_use_id": "t",
                          "content": [{"type": "audio"}]})") ==
        "A block of type \"audio\" is not supported in \"content\"; possible are text, image, "
        "document. - While reading message 1");
  CHECK(block("assistant", R"({"type": "image"})").starts_with("A block of type \"image\" is not"));
  CHECK(block("user", "1").starts_with("The field \"content\" is 1, "));
  CHECK(block("user", R"({"text": "x"})").starts_with("The field \"type\" is null, "));
  CHECK(block("user", R"({"type": "text"})").starts_with("The field \"text\" is null, "));
  CHECK(block("user", R"({"type": "text", "text": 1})").starts_with("The field \"text\" is 1, "));
  CHECK(block("user", R"({"type": "tool_result"})").starts_with("The field \"tool_use_id\" is "));
  CHECK(block("user", R"({"type": "tool_result", "tool_use_id": "t", "is_error": "no"})")
            .starts_with("The field \"is_error\" is "));
  CHECK(block("assistant", R"({"type": "tool_use", "id": "t", "name": "x", "input": "{}"})")
            .starts_with("The field \"input\" is "));
  CHECK(block("assistant", R"({"type": "tool_use", "id": "t", "name": "x"})")
            .starts_with("The field \"input\" is null, "));
  CHECK(block("assistant", R"({"type": "tool_use", "name": "x", "input": {}})")
            .starts_with("The field \"id\" is null, "));
  CHECK(block("assistant", R"({"type": "thinking"})").starts_with("The field \"thinking\" is "));
  CHECK(refused(with(hi(), "stop_sequences", json(R"(["x", ""])")))
            .starts_with("The field \"stop_sequences\" has a text of 0 bytes, "));
  CHECK(refused(with(hi(), "system", 1)).starts_with("The field \"system\" is 1, "));
  CHECK(refused(with(hi(), "system", json(R"([{"type": "image"}])")))
            .starts_with("A block of type \"image\" is not supported in \"system\""));
  CHECK(refused(with(hi(), "tools", json("[1]"))).starts_with("The field \"tools\" is 1, "));
  CHECK(refused(with(hi(), "tools", json(R"([{"name": "x"}])"))) ==
        "The field \"input_schema\" is null, but has to be an object. - While reading tool 0");
  CHECK(refused(with(hi(), "tools", json(R"([{"name": "", "input_schema": {}}])")))
            .starts_with("The field \"name\" is \"\", "));
  CHECK(refused(with(hi(), "tools", json(R"([{"name": "x", "input_schema": {}, "strict": 1}])")))
            .starts_with("The field \"strict\" is 1, "));
  CHECK(refused(with(hi(), "tool_choice", json(R"({"type": "all"})"))) ==
        "The field \"type\" is \"all\", but has to be auto, none, any or tool.");
  CHECK(refused(with(hi(), "thinking", json(R"({"type": "on"})"))) ==
        "The field \"type\" is \"on\", but has to be enabled, disabled or adaptive.");
  CHECK(refused(with(hi(), "output_config", json(R"({"effort": "some"})")))
            .starts_with("The field \"effort\" is \"some\", "));
  CHECK(refused(with(hi(), "output_config", json(R"({"format": {}})")))
            .starts_with("The field \"type\" is null"));
  const char* format = R"({"type": "json_schema", "schema": {"const": 1}})";
  CHECK(refused(with(with(hi(), "output_format", json(format)), "output_config",
                     json(std::string(R"({"format": )") + format + "}")))
            .find("output_format") != std::string::npos);
  CHECK(refused(Json::array()).starts_with("The request has to be a JSON object"));
}

TEST_CASE("a stream is blocks of thinking, text and calls, in the order in which they come") {
  Talks served;
  service::Reply reply = reply_of("Sure.");
  reply.parsed.tool_calls = {kCall, kCall};
  const std::string frames = streamed(served,
                                      {{3, "Hm", Kind::kReasoning},
                                       {3, " well", Kind::kReasoning},
                                       {3, ""},
                                       {3, "Su"},
                                       {3, "re."},
                                       {3, "weather", Kind::kCallBegin, 0},
                                       {3, R"({"city":)", Kind::kArguments, 0},
                                       {3, R"( "Rome"})", Kind::kArguments, 0},
                                       {3, "id", Kind::kCallId, 0},
                                       {3, "weather", Kind::kCallBegin, 1},
                                       {3, "{}", Kind::kArguments, 1}},
                                      reply);
  CHECK(
      frames ==
      started(0, kThinkingBlock) + piece(0, R"({"type":"thinking_delta","thinking":"Hm"})") +
          piece(0, R"({"type":"thinking_delta","thinking":" well"})") + piece(0, kSignature) +
          stopped(0) + started(1, kTextBlock) + piece(1, R"({"type":"text_delta","text":"Su"})") +
          piece(1, R"({"type":"text_delta","text":"re."})") + stopped(1) + started(2, kCallBlock) +
          piece(2, R"({"type":"input_json_delta","partial_json":"{\"city\":"})") +
          piece(2, R"({"type":"input_json_delta","partial_json":" \"Rome\"}"})") + stopped(2) +
          started(3, kCallBlock) + piece(3, R"({"type":"input_json_delta","partial_json":"{}"})") +
          stopped(3) + ended("tool_use"));
}

TEST_CASE("what was taken for a call ends its block, and goes on as text") {
  Talks served;
  const std::string frames = streamed(served,
                                      {{3, "weather", Kind::kCallBegin, 0},
                                       {3, "{oh", Kind::kArguments, 0},
                                       {3, "", Kind::kCallDrop, 0},
                                       {3, "weather{oh", Kind::kContent},
                                       {3, "Hm", Kind::kReasoning}},
                                      reply_of("weather{oh"));
  CHECK(frames ==
        started(0, kCallBlock) + piece(0, R"({"type":"input_json_delta","partial_json":"{oh"})") +
            stopped(0) + started(1, kTextBlock) +
            piece(1, R"({"type":"text_delta","text":"weather{oh"})") + stopped(1) +
            started(2, kThinkingBlock) + piece(2, R"({"type":"thinking_delta","thinking":"Hm"})") +
            piece(2, kSignature) + stopped(2) + ended("end_turn"));
}

TEST_CASE("whatever a parser gives becomes blocks that are opened and closed in turn") {
  Talks served;
  const Json tools = served.request(anthropic::messages, with(hi(), "tools", weather())).tools;
  for (const char* answer : kAnswers) {
    for (size_t cut = 0; cut <= std::string_view(answer).size(); ++cut) {
      for (const bool eager : {false, true}) {
        CAPTURE(answer);
        CAPTURE(cut);
        const Parsed parts = parsed("hermes", tools, eager, answer, cut);
        const Texts texts = served.texts(anthropic::messages, hi());
        std::string frames;
        for (const service::Event& event : parts.events) frames += texts.writer->next(0, event);
        frames += texts.writer->end(0, parts.reply);
        int index = -1;
        bool open = false;
        std::string text, thinking;
        std::vector<std::string> arguments;
        for (const Frame& frame : frames_of(frames)) {
          if (frame.event == "message_delta") continue;
          const bool starts = frame.event == "content_block_start";
          CHECK(open != starts);
          if (starts) ++index;
          CHECK(at(frame.data, "index") == Json(index));
          open = frame.event != "content_block_stop";
          if (starts && at(frame.data, "content_block", "type") == Json("tool_use"))
            arguments.emplace_back();
          if (frame.event != "content_block_delta") continue;
          const Json& delta = at(frame.data, "delta");
          if (const Json* more = delta.find("text")) text += more->string();
          if (const Json* more = delta.find("thinking")) thinking += more->string();
          if (const Json* more = delta.find("partial_json")) arguments.back() += more->string();
        }
        CHECK_FALSE(open);
        CHECK(text == parts.reply.text);
        CHECK(thinking == parts.reply.parsed.reasoning);
        const auto& calls = parts.reply.parsed.tool_calls;
        REQUIRE((arguments.size() == calls.size() || (eager && arguments.size() > calls.size())));
        for (size_t i = 0; i < calls.size(); ++i) CHECK(arguments[i] == calls[i].arguments);
      }
    }
  }
}

TEST_CASE("a message says why it ended") {
  Talks served;
  service::Reply reply = reply_of("");
  CHECK(streamed(served, {}, reply) == ended("end_turn"));
  reply.stats.stop = engine::StopReason::kLength;
  CHECK(streamed(served, {}, reply) == ended("max_tokens"));
  reply.stats.stop = engine::StopReason::kContext;
  CHECK(streamed(served, {}, reply) == ended("max_tokens"));
  reply.stats.stop = engine::StopReason::kStopped;
  reply.stop_text = "###";
  CHECK(streamed(served, {}, reply) == ended("stop_sequence", "\"###\""));
  reply.parsed.tool_calls = {kCall};
  CHECK(streamed(served, {}, reply) == ended("tool_use"));
}

TEST_CASE("a stream has pings, and errors in Anthropic's shape") {
  Talks served;
  const Texts texts = served.texts(anthropic::messages, hi());
  CHECK_FALSE(texts.stream);
  CHECK(texts.writer->ping() == "event: ping\ndata: {\"type\":\"ping\"}\n\n");
  CHECK(texts.writer->fail({ErrorCode::kDeviceLost, "Gone.", {}}) ==
        "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\","
        "\"message\":\"Gone.\"}}\n\n");
}

TEST_CASE("a message as a whole has its blocks, the arguments of calls as objects, and the usage") {
  Talks served;
  service::Reply reply = reply_of("Sure.");
  reply.parsed.reasoning = "Hm";
  reply.parsed.tool_calls = {kCall, kCall};
  const HttpReply http = served.texts(anthropic::messages, hi()).writer->whole({reply});
  CHECK(http.status == 200);
  CHECK(http.content_type == "application/json");
  const Json body = json(http.body);
  CHECK(at(body, "type") == Json("message"));
  CHECK(at(body, "role") == Json("assistant"));
  CHECK(at(body, "model") == Json("fake"));
  CHECK(at(body, "stop_reason") == Json("tool_use"));
  CHECK(at(body, "stop_sequence").is_null());
  CHECK(at(body, "usage") == json(R"({"input_tokens": 6, "cache_creation_input_tokens": 0,
                                      "cache_read_input_tokens": 4, "output_tokens": 5})"));
  CHECK(at(body, "content").items().size() == 4);
  CHECK(at(body, "content", 0) ==
        json(R"({"type": "thinking", "thinking": "Hm", "signature": ""})"));
  CHECK(at(body, "content", 1) == json(R"({"type": "text", "text": "Sure."})"));
  CHECK(at(body, "content", 2, "input") == json(R"({"city": "Rome"})"));
  CHECK(at(body, "content", 2, "id") != at(body, "content", 3, "id"));

  // The answer can be sent back as it came.
  Json messages = at(hi(), "messages");
  messages.push(Json::object().set("role", "assistant").set("content", at(body, "content")));
  messages.push(json(R"({"role": "user", "content": "Go on"})"));
  const service::Request again = request_of(served, with(hi(), "messages", messages));
  CHECK(again.messages[1].content == "Sure.");
  CHECK(at(again.messages[1].fields, "tool_calls").items().size() == 2);
  const Json empty =
      json(served.texts(anthropic::messages, hi()).writer->whole({reply_of("")}).body);
  CHECK(at(empty, "content") == Json::array());
}

TEST_CASE("tokens are counted by the template, without max_tokens and beyond the context") {
  Talks served;
  const auto count = [&](std::string content) {
    Json body = saying("[]");
    Json message = Json::object();
    message.set("role", "user").set("content", std::move(content));
    body.set("messages", Json::array().push(std::move(message))).set("max_tokens", Json());
    return served.reply(anthropic::count_tokens, body);
  };
  CHECK(count("aaa") == json(R"({"input_tokens": 4})"));
  CHECK(count(std::string(100, 'a')) == json(R"({"input_tokens": 101})"));
  CHECK(served.error(anthropic::count_tokens, json("{}")).message.find("messages") !=
        std::string::npos);
}

TEST_CASE("a stream begins with what is known of its prompt") {
  Talks served;
  const auto usage = [&](bool begun) {
    Texts texts =
        served.texts(anthropic::messages,
                     with(saying(R"([{"role": "user", "content": "aaa"}])"), "stream", true));
    set_prompts(served, texts);
    if (begun) CHECK(texts.writer->next(0, prompt_event(4)).empty());
    const auto frames = frames_of(texts.writer->begin());
    return at(frames[0].data, "message", "usage").dump();
  };
  // A ping may begin it before anything is read.
  CHECK(usage(false) ==
        R"({"input_tokens":4,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,)"
        R"("output_tokens":0})");
  CHECK(usage(true) ==
        R"({"input_tokens":6,"cache_creation_input_tokens":0,"cache_read_input_tokens":4,)"
        R"("output_tokens":0})");
}
