#include "api/ollama/chat.h"

#include "api/ollama/asked.h"
#include "api/ollama/options.h"
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

Json hi() { return json(R"({"model": "fake", "messages": [{"role": "user", "content": "Hi"}]})"); }
Json saying(std::string_view messages) { return with(hi(), "messages", json(messages)); }
Json weather() {
  return json(R"([{"type": "function",
                   "function": {"name": "weather", "parameters": {"type": "object"}}}])");
}

// A body of options as one of a chat.
base::Result<Exchange> chat_with_options(const Call& call) {
  const Json body = with(hi(), "options", call.body);
  return ollama::chat({call.http, body, call.model, call.models});
}

// What differs from run to run is taken out.
Json steady(Json line) {
  CHECK(at(line, "created_at").string().size() == 30);
  line.set("created_at", "now");
  if (line.find("total_duration")) {
    CHECK(at(line, "total_duration").integer() >= 0);
    line.set("total_duration", 1);
  }
  return line;
}
std::string without_ids(std::string text) {
  for (size_t id = 0; (id = text.find("call_", id)) != std::string::npos; id += 5)
    text.erase(id + 5, text.find('"', id) - id - 5);
  return text;
}
std::string streamed(Writer& writer, const std::vector<service::Event>& events,
                     const service::Reply& reply) {
  CHECK(writer.begin().empty());
  std::string text;
  for (const service::Event& event : events) text += writer.next(0, event);
  text += writer.end(0, reply) + writer.finish();
  std::string out;
  for (const Json& line : lines_of(text)) out += steady(line).dump() + "\n";
  return without_ids(out);
}

std::string line(std::string_view message, std::string_view more = R"("done":false)") {
  return fmt::format(R"({{"model":"fake","created_at":"now","message":{},{}}})", message, more) +
         "\n";
}
std::string said(std::string_view content) {
  return fmt::format(R"({{"role":"assistant","content":"{}"}})", content);
}
std::string thought(std::string_view text) {
  return fmt::format(R"({{"role":"assistant","content":"","thinking":"{}"}})", text);
}
constexpr std::string_view kCounted =
    R"("total_duration":1,"load_duration":0,"prompt_eval_count":10,)"
    R"("prompt_eval_duration":60000000,"eval_count":5,"eval_duration":40000000)";
std::string ended(std::string_view reason, std::string_view more = "") {
  return line(said(""),
              fmt::format(R"("done":true,"done_reason":"{}",{}{})", reason, more, kCounted));
}

const chat::ToolCall kCall = {"", "weather", R"({"city": "Rome"})"};

// Messages of so many tokens each, of the roles' first letters.
Json turns(std::string_view roles, size_t n_tokens) {
  Json out = Json::array();
  for (const char c : roles) {
    const char* role = c == 's' ? "system" : c == 'u' ? "user" : c == 'a' ? "assistant" : "tool";
    Json one = Json::object().set("role", role);
    out.push(one.set("content", std::string(n_tokens, 'a')));
  }
  return with(hi(), "messages", std::move(out));
}
std::string roles_of(const service::Request& request) {
  std::string out;
  for (const chat::Message& message : request.messages) out += message.role[0];
  return out;
}

}  // namespace

TEST_CASE("a chat says all that a chat may say") {
  Talks served;
  const Texts texts = served.texts(ollama::chat, json(R"({
      "model": "other:1b", "keep_alive": "5m", "shift": true, "format": null,
      "options": {"temperature": 0.5, "top_k": 7.0, "seed": 3, "num_predict": 9, "stop": ["x"],
                  "repeat_last_n": -1, "num_gpu": "all", "unheard_of": 1},
      "messages": [
        {"role": "system", "content": "Be kind"},
        {"role": "user", "content": "Rome?", "images": []},
        {"role": "assistant", "content": "", "thinking": "Hm", "tool_calls": [
            {"id": "c1", "function": {"index": 0, "name": "weather",
                                      "arguments": {"city": "Rome"}}}]},
        {"role": "tool", "content": "cold", "tool_name": "weather", "tool_call_id": "c1"}]})"));
  CHECK(texts.stream);
  REQUIRE(texts.requests.size() == 1);
  const service::Request& request = texts.requests.front();
  CHECK(request.sampling.temperature == 0.5f);
  CHECK(request.sampling.top_k == 7);
  CHECK(request.sampling.seed == 3);
  CHECK(request.sampling.repeat_last == 64);
  CHECK(request.max_tokens == 9);
  CHECK(request.stop == std::vector<std::string>{"x"});
  CHECK(roles_of(request) == "suat");
  CHECK(request.messages[0].content == "Be kind");
  CHECK(request.messages[2].fields ==
        json(R"({"reasoning_content": "Hm", "tool_calls": [{"id": "c1", "type": "function",
                 "function": {"name": "weather", "arguments": "{\"city\":\"Rome\"}"}}]})"));
  CHECK(request.messages[3].fields == json(R"({"name": "weather", "tool_call_id": "c1"})"));
  CHECK_FALSE(request.continue_last);
  CHECK(served
            .request(ollama::chat, saying(R"([{"role": "user", "content": "Hi"},
                                                {"role": "assistant", "content": "We"}])"))
            .continue_last);
}

TEST_CASE("many options are read one by one") {
  Talks served;
  Json options = Json::object();
  for (int i = 0; i < 100'000; ++i) options.add("option " + std::to_string(i), i);
  options.add("top_k", 7);
  CHECK(served.request(ollama::chat, with(hi(), "options", options)).sampling.top_k == 7);
}

TEST_CASE("what is not asked for is as Ollama has it") {
  Talks served;
  const service::Request request = served.request(ollama::chat, hi());
  CHECK(request.sampling.temperature == 0.8f);
  CHECK(request.sampling.top_k == 40);
  CHECK(request.sampling.top_p == 0.9f);
  CHECK(request.sampling.min_p == 0);
  CHECK(request.sampling.n_probs == 0);
  CHECK_FALSE(request.max_tokens.has_value());
  CHECK(request.think == Think::kDefault);
  const Json unbound = json(R"({"num_predict": -2, "num_ctx": 1000})");
  CHECK_FALSE(served.request(ollama::chat, with(hi(), "options", unbound)).max_tokens.has_value());
  CHECK_FALSE(served.texts(ollama::chat, with(hi(), "stream", false)).stream);
}

TEST_CASE("every row of the tables of chats is refused by its name where it is wrong") {
  Talks served;
  const auto asked = ollama::asked_fields();
  std::vector<Field> rows(asked.begin(), asked.end());
  std::erase_if(rows, [](const Field& field) { return field.name == "top_logprobs"; });
  check_fields(served, ollama::chat, hi(), {ollama::chat_fields(), rows});
  const std::vector<Field> sampling = rows_beside(sampling_fields(), ollama::option_fields());
  check_fields(served, chat_with_options, Json::object(), {ollama::option_fields(), sampling});
}

TEST_CASE("errors are Ollama's where it has texts for them") {
  Talks served, plain(kPlain);
  const auto error = [&](const Json& body) { return served.error(ollama::chat, body).text(); };
  CHECK(served.ask(ollama::chat, "").error().message == "missing request body");
  CHECK(error(with(hi(), "model", "")) == "model is required");
  CHECK(error(json("{}")) == "model is required");
  CHECK(error(with(hi(), "top_logprobs", 21)) == "top_logprobs must be between 0 and 20");
  CHECK(error(with(hi(), "top_logprobs", -1)) == "top_logprobs must be between 0 and 20");
  const auto option = [&](std::string_view options) {
    return error(with(hi(), "options", json(options)));
  };
  CHECK(option(R"({"top_k": 1.5})") ==
        "option \"top_k\" must be of type integer - While reading the options");
  CHECK(option(R"({"temperature": "hot"})")
            .starts_with("option \"temperature\" must be of type float32"));
  CHECK(option(R"({"stop": [1]})").starts_with("option \"stop\" must be of type array of strings"));
  CHECK(
      option(R"({"top_p": 2})") ==
      "The field \"top_p\" is 2, but has to be a number from 0 to 1. - While reading the options");
  const auto unable = [&](const char* key, Json value) {
    const base::Error refusal = plain.error(ollama::chat, with(hi(), key, std::move(value)));
    CHECK(status_of(refusal.code) == 400);
    return refusal.message;
  };
  CHECK(unable("think", true) == "\"fake\" does not support thinking");
  CHECK(unable("think", "high") == "\"fake\" does not support thinking");
  CHECK(unable("tools", weather()) == "\"fake\" does not support tools");
  Served bare;
  CHECK(bare.ask(ollama::chat, hi().dump()).error().message == "\"fake\" does not support chat");
}

TEST_CASE("what messages may not say is refused with its name and their number") {
  Talks served;
  const auto error = [&](std::string_view message) {
    const base::Error refusal = served.error(
        ollama::chat, saying(fmt::format(R"([{{"role": "user", "content": "Hi"}}, {}])", message)));
    CHECK(status_of(refusal.code) == 400);
    return refusal.text();
  };
  CHECK(error("1") ==
        "The field \"messages\" is 1, but has to be a list of objects. - While reading message 1");
  CHECK(error(R"({"content": "Hi"})").starts_with("The field \"role\" is \"\", "));
  CHECK(error(R"({"role": 1})").starts_with("The field \"role\" is 1, "));
  CHECK(error(R"({"role": "user", "content": ["Hi"]})").starts_with("The field \"content\" is "));
  CHECK(error(R"({"role": "user", "images": ["A?AA"]})") ==
        "The field \"images\" is no base64 (4 characters). - While reading message 1");
  CHECK(error(R"({"role": "assistant", "tool_calls": [1]})")
            .starts_with("The field \"tool_calls\" is 1, "));
  CHECK(error(R"({"role": "assistant", "tool_calls": [{}]})")
            .starts_with("The field \"function\" is null, "));
  CHECK(error(R"({"role": "assistant", "tool_calls": [{"function": {}}]})")
            .starts_with("The field \"name\" is null, "));
  CHECK(error(R"({"role": "assistant",
                  "tool_calls": [{"function": {"name": "x", "arguments": "{}"}}]})")
            .starts_with("The field \"arguments\" is \"{}\", but has to be an object."));
  CHECK(served.error(ollama::chat, with(hi(), "tools", json("[1]"))).message ==
        "The field \"tools\" is 1, but has to be a list of {type, function: {name, …}}.");
  CHECK(served.error(ollama::chat, with(hi(), "think", "much")).message ==
        "The field \"think\" is \"much\", but has to be true, false, low, medium, high or max.");
  CHECK(served.error(ollama::chat, with(hi(), "keep_alive", "soon")).message.find("keep_alive") !=
        std::string::npos);
}

TEST_CASE("thinking is switched where there is a switch") {
  constexpr const char* kOnOff =
      "{% if enable_thinking %}a{% endif %}{% for m in messages %}{{ m.content }}{% endfor "
      "%}<|go|>";
  Talks levels, plain(kPlain), only_switch(kOnOff);
  const auto think = [](Talks& served, Json value) {
    return served.request(ollama::chat, with(hi(), "think", std::move(value))).think;
  };
  CHECK(think(levels, true) == Think::kOn);
  CHECK(think(levels, false) == Think::kOff);
  CHECK(think(levels, "low") == Think::kLow);
  CHECK(think(levels, "medium") == Think::kMedium);
  CHECK(think(levels, "high") == Think::kHigh);
  CHECK(think(levels, "max") == Think::kHigh);
  CHECK(think(levels, Json()) == Think::kDefault);
  CHECK(think(plain, false) == Think::kDefault);
  CHECK(think(only_switch, true) == Think::kOn);
  CHECK(only_switch.error(ollama::chat, with(hi(), "think", "low")).message ==
        "think value \"low\" is not supported for this model");
}

TEST_CASE("tools are offered as they are") {
  Talks served;
  CHECK(served.request(ollama::chat, with(hi(), "tools", weather())).tools == weather());
  CHECK(served.request(ollama::chat, with(hi(), "tools", Json::array())).tools.is_null());
}

TEST_CASE("without messages it is said that the model is loaded") {
  Talks served;
  const auto load = [&](std::string_view body) {
    const auto exchange = served.ask(ollama::chat, body);
    REQUIRE(exchange.has_value());
    return std::get<HttpReply>(*exchange);
  };
  const HttpReply streamed = load(R"({"model": "fake"})");
  CHECK(streamed.content_type == "application/x-ndjson");
  CHECK(steady(lines_of(streamed.body).at(0)).dump() + "\n" ==
        line(said(""), R"("done":true,"done_reason":"load")"));
  const HttpReply whole =
      load(R"({"model": "fake", "messages": [], "keep_alive": 0, "stream": false})");
  CHECK(whole.content_type == "application/json");
  CHECK(at(body_of(whole), "done_reason") == Json("unload"));
}

TEST_CASE(
    "a stream of a chat is a line for each piece, calls when they are over, and what counts") {
  Talks served;
  const Texts texts = served.texts(ollama::chat, hi());
  CHECK(texts.writer->content_type() == "application/x-ndjson");
  CHECK(texts.writer->ping().empty());
  CHECK(texts.writer->headers().empty());
  service::Reply reply = reply_of("Hello.");
  reply.parsed.tool_calls = {kCall, kCall};
  CHECK(streamed(*texts.writer,
                 {{3, "Hm", Kind::kReasoning},
                  {3, ""},
                  {3, "Hello."},
                  {3, "weather", Kind::kCallBegin, 0},
                  {3, R"({"city": )", Kind::kArguments, 0},
                  {3, R"("Rome"})", Kind::kArguments, 0},
                  {3, "x", Kind::kCallId, 0},
                  {3, "weather", Kind::kCallBegin, 1},
                  {3, "{}", Kind::kArguments, 1}},
                 reply) ==
        line(thought("Hm")) + line(said("Hello.")) +
            line(R"({"role":"assistant","content":"","tool_calls":[{"id":"call_","function":)"
                 R"({"index":0,"name":"weather","arguments":{"city":"Rome"}}}]})") +
            line(R"({"role":"assistant","content":"","tool_calls":[{"id":"call_","function":)"
                 R"({"index":1,"name":"weather","arguments":{}}}]})") +
            ended("stop"));
  CHECK(texts.writer->fail({ErrorCode::kDeviceLost, "Gone.", {}}) == "{\"error\":\"Gone.\"}\n");
}

TEST_CASE("what was taken for a call is not written as one") {
  Talks served;
  const Texts texts = served.texts(ollama::chat, hi());
  CHECK(streamed(*texts.writer,
                 {{3, "weather", Kind::kCallBegin, 0},
                  {3, "{oh", Kind::kArguments, 0},
                  {3, "", Kind::kCallDrop, 0},
                  {3, "weather{oh"},
                  {3, "Hm", Kind::kReasoning}},
                 reply_of("weather{oh", engine::StopReason::kLength)) ==
        line(said("weather{oh")) + line(thought("Hm")) + ended("length"));
}

TEST_CASE("whatever a parser gives becomes lines that add up to the answer") {
  Talks served;
  for (const char* answer : kAnswers) {
    for (size_t cut = 0; cut <= std::string_view(answer).size(); ++cut) {
      CAPTURE(answer);
      CAPTURE(cut);
      const Parsed parts = parsed("hermes", weather(), /*stream_arguments=*/false, answer, cut);
      const Texts texts = served.texts(ollama::chat, hi());
      std::string written;
      for (const service::Event& event : parts.events) written += texts.writer->next(0, event);
      written += texts.writer->end(0, parts.reply);
      std::string text, thinking;
      Json calls = Json::array();
      for (const Json& each : lines_of(written)) {
        text += at(each, "message", "content").string();
        if (const Json* more = at(each, "message").find("thinking")) thinking += more->string();
        const Json* called = at(each, "message").find("tool_calls");
        if (called) calls.push(at(*called, 0));
      }
      CHECK(text == parts.reply.text);
      CHECK(thinking == parts.reply.parsed.reasoning);
      const Json whole = body_of(texts.writer->whole({parts.reply}));
      const Json* all = at(whole, "message").find("tool_calls");
      CHECK(calls == (all ? *all : Json::array()));
    }
  }
}

TEST_CASE("a chat as a whole has its message, with the arguments of calls as objects") {
  Talks served;
  service::Reply reply = reply_of("Hello.", engine::StopReason::kContext);
  reply.parsed.reasoning = "Hm";
  reply.parsed.tool_calls = {kCall};
  const Json body = body_of(served.texts(ollama::chat, hi()).writer->whole({reply}));
  CHECK(without_ids(steady(body).dump()) + "\n" ==
        line(R"({"role":"assistant","content":"Hello.","thinking":"Hm","tool_calls":)"
             R"([{"id":"call_","function":)"
             R"({"index":0,"name":"weather","arguments":{"city":"Rome"}}}]})",
             fmt::format(R"("done":true,"done_reason":"length",{})", kCounted)));

  // The answer can be sent back as it came.
  Json messages = at(hi(), "messages");
  messages.push(at(body, "message"));
  messages.push(json(R"({"role": "tool", "content": "cold"})"));
  CHECK(roles_of(served.request(ollama::chat, with(hi(), "messages", messages))) == "uat");
}

TEST_CASE("probabilities come with the pieces, and with what is written next where there is none") {
  Talks served;
  Json body = hi();
  body.set("logprobs", true).set("top_logprobs", 1);
  const Texts texts = served.texts(ollama::chat, body);
  CHECK(texts.requests[0].sampling.n_probs == 1);
  const service::Event event = {.token = 8, .text = "", .logprob = -0.5f, .top = {{8, -0.5f}}};
  service::Event second = event;
  second.text = "aa";
  std::string text = texts.writer->next(0, event);
  CHECK(text.empty());
  text += texts.writer->next(0, second);
  text += texts.writer->next(0, event);
  text += texts.writer->end(0, reply_of("aa"));
  const std::vector<Json> lines = lines_of(text);
  REQUIRE(lines.size() == 2);
  REQUIRE(at(lines[0], "logprobs").items().size() == 2);
  CHECK(at(lines[0], "logprobs", 1) ==
        json(R"({"id": 8, "token": "a", "bytes": [97], "logprob": -0.5, "top_logprobs":
                 [{"id": 8, "token": "a", "bytes": [97], "logprob": -0.5}]})"));
  CHECK(at(lines[1], "logprobs").items().size() == 1);

  service::Reply reply = reply_of("aa");
  reply.chosen = {{8, -0.5f, {}}, {8, -0.5f, {}}, {8, -0.5f, {}}};
  CHECK(at(body_of(texts.writer->whole({reply})), "logprobs").items().size() == 3);
  const Texts without = served.texts(ollama::chat, with(body, "top_logprobs", Json()));
  CHECK(without.requests[0].sampling.n_probs == 1);
  CHECK(at(lines_of(without.writer->next(0, second))[0], "logprobs", 0, "top_logprobs") ==
        Json::array());
}

TEST_CASE("num_ctx bounds prompt and answer, and a prompt that is too long is refused") {
  Talks served;
  const auto asking = [](Json body, int num_ctx) {
    return with(std::move(body), "options", Json::object().set("num_ctx", num_ctx));
  };
  // Nine tokens of the message and one behind it.
  const Json ten = turns("u", 9);
  CHECK(served.request(ollama::chat, asking(ten, 16)).max_tokens == 6);
  CHECK_FALSE(served.request(ollama::chat, asking(ten, 64)).max_tokens.has_value());
  Json shorter = asking(ten, 16);
  shorter.set("options", json(R"({"num_ctx": 16, "num_predict": 2})"));
  CHECK(served.request(ollama::chat, shorter).max_tokens == 2);
  const base::Error error = served.error(ollama::chat, asking(ten, 10));
  CHECK(error.code == ErrorCode::kInvalidArgument);
  CHECK(error.message ==
        "The prompt has 10 tokens, which leaves no room for an answer in the 10 tokens that it may "
        "have.");
}

TEST_CASE("a full context is shifted where a request or the server says so") {
  Talks served;
  const auto shift = [&](const Json& body) { return served.request(ollama::chat, body).shift; };
  CHECK_FALSE(shift(hi()).has_value());
  const Json shifting = with(hi(), "shift", true);
  REQUIRE(shift(shifting).has_value());
  CHECK(shift(shifting)->n_keep == 0u);
  CHECK_FALSE(shift(shifting)->context.has_value());
  const auto kept = [&](int n) {
    return shift(with(shifting, "options", Json::object().set("num_keep", n)))->n_keep;
  };
  CHECK(kept(5) == 5u);
  CHECK_FALSE(kept(-1).has_value());
  Json narrow = with(turns("u", 9), "shift", true);
  narrow.set("options", json(R"({"num_ctx": 16})"));
  CHECK(shift(narrow)->context == 16u);
  CHECK_FALSE(served.request(ollama::chat, narrow).max_tokens.has_value());

  service::LoadedModel model = service::test::scripted_model(kTalks);
  model.defaults.request.shift.emplace().n_keep = 3;
  Talks shifts(std::move(model));
  CHECK(shifts.request(ollama::chat, hi()).shift->n_keep == 3u);
  CHECK_FALSE(shifts.request(ollama::chat, with(hi(), "shift", false)).shift.has_value());
}

TEST_CASE("with truncate the oldest turns are left out, never what is of the system, nor tools") {
  Talks served;
  const auto left = [&](std::string_view roles, size_t n_tokens, std::string* header = nullptr) {
    Json body = turns(roles, n_tokens);
    body.set("truncate", true).set("tools", weather());
    const Texts texts = served.texts(ollama::chat, body);
    CHECK(texts.requests[0].tools == weather());
    const auto headers = texts.writer->headers();
    if (header) *header = headers.empty() ? "" : headers[0].first + ": " + headers[0].second;
    const Json last = lines_of(texts.writer->end(0, reply_of(""))).at(0);
    CHECK((last.find("truncated_tokens") != nullptr) == !headers.empty());
    return roles_of(texts.requests[0]);
  };
  std::string header;
  // The context has 64 tokens; two are of the tool and behind the messages.
  CHECK(left("suauau", 10, &header) == "suauau");
  CHECK(header.empty());
  CHECK(left("suauau", 12, &header) == "suau");
  CHECK(header == "X-Puna-Truncated: 24");
  CHECK(left("suatatuauau", 10) == "suauau");
  CHECK(left("suatatuauau", 15) == "suau");
  CHECK(left("suatatuauau", 20) == "su");
  CHECK(left("suatatuauau", 30) == "su");
  CHECK(left("ausu", 20) == "usu");
  CHECK(left("ausu", 25) == "su");
  CHECK(left("aaaau", 20) == "u");
  Json alone = turns("suau", 40);
  CHECK(served.error(ollama::chat, with(alone, "truncate", true)).message ==
        "The prompt has 81 tokens, which leaves no room for an answer in the 64 tokens that it may "
        "have.");
  CHECK(served.error(ollama::chat, with(turns("u", 70), "truncate", true)).message ==
        "The prompt has 71 tokens, which leaves no room for an answer in the 64 tokens that it may "
        "have.");
}
