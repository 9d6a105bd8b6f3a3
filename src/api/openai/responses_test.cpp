#include "api/openai/responses.h"

#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/probabilities.h"
#include "api/testing/talks.h"

using namespace puna;
using namespace puna::api;
using namespace puna::api::test;
using base::Json;
using Kind = service::Event::Kind;
using service::Part;

namespace {

Json hi() { return json(R"({"input": "Hi"})"); }
Json streams(std::string_view more = "{}") {
  Json out = with(hi(), "stream", true);
  const Json fields = json(more);
  for (const auto& [name, value] : fields.members()) out.set(name, value);
  return out;
}
Json functions() {
  return json(R"([{"type": "function", "name": "weather", "parameters": {"type": "object"}}])");
}

std::string without(std::string text, std::string_view part) {
  for (size_t at = 0; (at = text.find(part, at)) != std::string::npos;) text.erase(at, part.size());
  return text;
}

// Ids of calls are drawn too.
std::string without_call_ids(std::string text) {
  constexpr std::string_view kId = R"("call_id":"call_)";
  for (size_t at = 0; (at = text.find(kId, at)) != std::string::npos; at += kId.size())
    text.erase(at + kId.size(), 9);
  return text;
}

// A stream as a client puts it together, with every event looked at.
struct Read {
  std::vector<Json> items;  // as their events of the end have them
  Json response;            // of the last event
  std::string last;         // its type
  std::string lines;        // the events between, without numbers, ids and what is drawn
};

class Reader {
 public:
  Read read(const std::string& frames) {
    for (const Frame& frame : frames_of(frames)) {
      CAPTURE(frame.data.dump());
      CHECK(at(frame.data, "type") == Json(frame.event));
      CHECK(at(frame.data, "sequence_number") == Json(n_++));
      REQUIRE(out_.last.empty());  // nothing comes behind the end
      if (frame.data.find("response")) {
        lifecycle(frame);
      } else {
        REQUIRE(n_ > 2);
        event(frame.event.substr(std::string_view("response.").size()), frame.data);
        note(frame);
      }
    }
    CHECK_FALSE(open_);
    return std::move(out_);
  }

 private:
  void lifecycle(const Frame& frame) {
    const Json& response = at(frame.data, "response");
    if (n_ == 1) key_ = at(response, "id").string().substr(5);
    CHECK(at(response, "id") == Json("resp_" + key_));
    if (n_ <= 2) {
      CHECK(frame.event == (n_ == 1 ? "response.created" : "response.in_progress"));
      CHECK(at(response, "status") == Json("in_progress"));
      CHECK(at(response, "output") == Json::array());
      CHECK(at(response, "usage").is_null());
      return;
    }
    CHECK(frame.event == "response." + at(response, "status").string());
    CHECK(at(response, "output").items().size() == out_.items.size());
    out_.response = response;
    out_.last = frame.event;
  }

  void event(const std::string& type, const Json& data) {
    CHECK(at(data, "output_index") == Json(out_.items.size()));
    if (type == "output_item.added") {
      CHECK_FALSE(std::exchange(open_, true));
      item_ = at(data, "item");
      CHECK(at(item_, "status") == Json("in_progress"));
      text_.clear();
      logprobs_ = Json::array();
      n_parts_ = 0;
      return;
    }
    REQUIRE(open_);
    if (type == "output_item.done") return done(at(data, "item"));
    CHECK(at(data, "item_id") == at(item_, "id"));
    if (at(item_, "type") != Json("function_call")) {
      CHECK(at(data, "content_index") == Json(0));
      CHECK(n_parts_ == (type == "content_part.added" ? 0 : 1));
    }
    if (type == "content_part.added") {
      ++n_parts_;
      CHECK(at(data, "part", "text") == Json(""));
    } else if (type == "content_part.done") {
      part_ = at(data, "part");
      CHECK(at(part_, "text") == Json(text_));
    } else if (type.ends_with(".delta")) {
      CHECK_FALSE(at(data, "delta").string().empty());
      text_ += at(data, "delta").string();
      if (type == "output_text.delta") {
        for (const Json& each : at(data, "logprobs").items()) logprobs_.push(each);
      }
    } else if (type == "function_call_arguments.done") {
      CHECK(at(data, "arguments") == Json(text_));
    } else {
      CHECK(type.ends_with("_text.done"));
      CHECK(at(data, "text") == Json(text_));
      if (type == "output_text.done") CHECK(at(data, "logprobs") == logprobs_);
    }
  }

  void done(const Json& item) {
    for (const char* same : {"id", "type"}) CHECK(at(item, same) == at(item_, same));
    CHECK(at(item, "status") != Json("in_progress"));
    if (at(item, "type") == Json("function_call")) {
      for (const char* same : {"call_id", "name"}) CHECK(at(item, same) == at(item_, same));
      CHECK(at(item, "arguments") == Json(text_));
    } else {
      CHECK(at(item, "content") == Json::array().push(part_));
      if (const Json* logprobs = part_.find("logprobs")) CHECK(*logprobs == logprobs_);
    }
    open_ = false;
    out_.items.push_back(item);
  }

  void note(const Frame& frame) {
    Json line = Json::object();
    for (const auto& [name, value] : frame.data.members()) {
      if (name != "type" && name != "sequence_number" && name != "item_id" &&
          name != "output_index" && name != "content_index")
        line.set(name, value);
    }
    const std::string text = without_call_ids(without(line.dump(), key_));
    out_.lines += frame.event.substr(9) + " " + text + "\n";
  }

  Read out_;
  size_t n_ = 0, n_parts_ = 0;
  bool open_ = false;
  std::string key_, text_;
  Json item_, part_, logprobs_;
};

Read streamed(const Texts& texts, const std::vector<service::Event>& events,
              const service::Reply& reply) {
  CHECK(texts.stream);
  Writer& writer = *texts.writer;
  CHECK(writer.content_type() == "text/event-stream");
  std::string frames = writer.begin();
  for (const service::Event& event : events) frames += writer.next(0, event);
  frames += writer.end(0, reply);
  CHECK(writer.finish().empty());
  return Reader().read(frames);
}

// All that texts, thinking and calls of items are, which whole and stream have in common.
struct Sum {
  std::string text, thinking, calls;
  bool operator==(const Sum&) const = default;
};
Sum sum_of(const Json& output) {
  Sum out;
  for (const Json& item : output.items()) {
    const std::string& type = at(item, "type").string();
    if (type == "function_call") {
      if (at(item, "status") == Json("completed"))
        out.calls += at(item, "name").string() + at(item, "arguments").string() + "\n";
      continue;
    }
    (type == "message" ? out.text : out.thinking) += at(item, "content", 0, "text").string();
  }
  return out;
}

}  // namespace

TEST_CASE("a streamed response is items that are opened, told of and closed in turn") {
  Talks served;
  service::Reply reply = reply_of("Sure.");
  const Read read = streamed(served.texts(openai::responses, streams()),
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
      read.lines ==
      R"(output_item.added {"item":{"id":"rs_0000","type":"reasoning","status":"in_progress","summary":[],"content":[]}}
content_part.added {"part":{"type":"reasoning_text","text":""}}
reasoning_text.delta {"delta":"Hm"}
reasoning_text.delta {"delta":" well"}
reasoning_text.done {"text":"Hm well"}
content_part.done {"part":{"type":"reasoning_text","text":"Hm well"}}
output_item.done {"item":{"id":"rs_0000","type":"reasoning","status":"completed","summary":[],"content":[{"type":"reasoning_text","text":"Hm well"}]}}
output_item.added {"item":{"id":"msg_0001","type":"message","status":"in_progress","role":"assistant","content":[]}}
content_part.added {"part":{"type":"output_text","text":"","annotations":[],"logprobs":[]}}
output_text.delta {"delta":"Su","logprobs":[]}
output_text.delta {"delta":"re.","logprobs":[]}
output_text.done {"text":"Sure.","logprobs":[]}
content_part.done {"part":{"type":"output_text","text":"Sure.","annotations":[],"logprobs":[]}}
output_item.done {"item":{"id":"msg_0001","type":"message","status":"completed","role":"assistant","content":[{"type":"output_text","text":"Sure.","annotations":[],"logprobs":[]}]}}
output_item.added {"item":{"id":"fc_0002","type":"function_call","status":"in_progress","call_id":"call_","name":"weather","arguments":""}}
function_call_arguments.delta {"delta":"{\"city\":"}
function_call_arguments.delta {"delta":" \"Rome\"}"}
function_call_arguments.done {"name":"weather","arguments":"{\"city\": \"Rome\"}"}
output_item.done {"item":{"id":"fc_0002","type":"function_call","status":"completed","call_id":"call_","name":"weather","arguments":"{\"city\": \"Rome\"}"}}
output_item.added {"item":{"id":"fc_0003","type":"function_call","status":"in_progress","call_id":"call_","name":"weather","arguments":""}}
function_call_arguments.delta {"delta":"{}"}
function_call_arguments.done {"name":"weather","arguments":"{}"}
output_item.done {"item":{"id":"fc_0003","type":"function_call","status":"completed","call_id":"call_","name":"weather","arguments":"{}"}}
)");
  CHECK(read.last == "response.completed");
  CHECK(at(read.response, "output") == Json(read.items));
  CHECK(at(read.items[2], "call_id") != at(read.items[3], "call_id"));
  CHECK(at(read.items[2], "call_id").string().size() == 14);
}

TEST_CASE("what was taken for a call stays as an incomplete one, and goes on as text") {
  Talks served;
  const Read read = streamed(served.texts(openai::responses, streams()),
                             {{3, "time", Kind::kCallBegin, 0},
                              {3, "{}", Kind::kArguments, 0},
                              {3, "weather", Kind::kCallBegin, 1},
                              {3, "{}", Kind::kArguments, 1},
                              {3, "weather", Kind::kCallBegin, 2},
                              {3, "{oh", Kind::kArguments, 2},
                              {3, "", Kind::kCallDrop, 1},
                              {3, "weather{}weather{oh", Kind::kContent},
                              {3, "go", Kind::kCallBegin, 1},
                              {3, "{}", Kind::kArguments, 1}},
                             reply_of(""));
  REQUIRE(read.items.size() == 5);
  const Json& output = at(read.response, "output");
  const std::pair<const char*, const char*> items[] = {{"function_call", "completed"},
                                                       {"function_call", "incomplete"},
                                                       {"function_call", "incomplete"},
                                                       {"message", "completed"},
                                                       {"function_call", "completed"}};
  for (int i = 0; i < 5; ++i) {
    CAPTURE(i);
    CHECK(at(output, i, "type") == Json(items[i].first));
    CHECK(at(output, i, "status") == Json(items[i].second));
    CHECK(at(output, i, "id") == at(read.items[static_cast<size_t>(i)], "id"));
  }
  CHECK(at(read.response, "status") == Json("completed"));
}

TEST_CASE("of several calls only the first is told of where one is asked for") {
  Talks served;
  const Read read =
      streamed(served.texts(openai::responses, streams(R"({"parallel_tool_calls": false})")),
               {{3, "look", Kind::kCallBegin, 0},
                {3, "{", Kind::kArguments, 0},
                {3, "", Kind::kCallDrop, 0},
                {3, "look{"},
                {3, "go", Kind::kCallBegin, 0},
                {3, "{}", Kind::kArguments, 0},
                {3, "see", Kind::kCallBegin, 1},
                {3, "{oh", Kind::kArguments, 1},
                {3, "", Kind::kCallDrop, 1},
                {3, "see{oh"}},
               reply_of(""));
  CHECK(sum_of(at(read.response, "output")) == Sum{"look{see{oh", "", "go{}\n"});
}

TEST_CASE("whatever a parser gives is the same as a stream and as a whole") {
  Talks served;
  const Json body = with(streams(), "tools", functions());
  const service::Request request = served.request(openai::responses, body);
  for (const char* answer : kAnswers) {
    for (size_t cut = 0; cut <= std::string_view(answer).size(); ++cut) {
      for (const bool eager : {false, true}) {
        CAPTURE(answer);
        CAPTURE(cut);
        const Parsed parts = parsed("hermes", request.tools, eager, answer, cut);
        const Read read =
            streamed(served.texts(openai::responses, body), parts.events, parts.reply);
        const Json whole =
            body_of(served.texts(openai::responses, hi()).writer->whole({parts.reply}));
        const Sum sum = sum_of(at(whole, "output"));
        CHECK(sum.text == parts.reply.text);
        CHECK(sum_of(Json(read.items)) == sum);
        CHECK(sum_of(at(read.response, "output")) == sum);
        CHECK(at(whole, "usage") == at(read.response, "usage"));
        CHECK(at(whole, "status") == at(read.response, "status"));
      }
    }
  }
}

TEST_CASE("a response as a whole has its items, what was asked, and what was counted") {
  Talks served;
  const Json body = json(
      R"({"input": "Hi", "instructions": "Be brief.", "metadata": {"a": "b"}, "temperature": 0.7,
      "max_output_tokens": 9, "tools": [{"type": "function", "name": "weather", "parameters": null}]})");
  service::Reply reply = reply_of("Sure.");
  reply.parsed.reasoning = "Hm";
  reply.parsed.tool_calls = {{"", "weather", R"({"city": "Rome"})"}, {"", "weather", "{}"}};
  reply.parts = {Part::kReasoning, Part::kReasoning, Part::kContent, Part::kCall};
  const HttpReply http = served.texts(openai::responses, body).writer->whole({reply});
  CHECK(http.status == 200);
  CHECK(http.content_type == "application/json");
  Json whole = body_of(http);
  const std::string key = at(whole, "id").string().substr(5);
  CHECK(key.size() == 24);
  CHECK(at(whole, "completed_at").integer() >= at(whole, "created_at").integer());
  for (const char* time : {"created_at", "completed_at"}) whole.set(time, 1);
  CHECK(
      without_call_ids(without(whole.dump(), key)) ==
      R"({"id":"resp_","object":"response","created_at":1,"status":"completed","completed_at":1,"error":null,)"
      R"("incomplete_details":null,"model":"fake","output":[)"
      R"({"id":"rs_0000","type":"reasoning","status":"completed","summary":[],"content":[{"type":"reasoning_text","text":"Hm"}]},)"
      R"({"id":"msg_0001","type":"message","status":"completed","role":"assistant",)"
      R"("content":[{"type":"output_text","text":"Sure.","annotations":[],"logprobs":[]}]},)"
      R"({"id":"fc_0002","type":"function_call","status":"completed","call_id":"call_","name":"weather",)"
      R"("arguments":"{\"city\": \"Rome\"}"},)"
      R"({"id":"fc_0003","type":"function_call","status":"completed","call_id":"call_","name":"weather","arguments":"{}"}],)"
      R"("usage":{"input_tokens":10,"input_tokens_details":{"cached_tokens":4,"cache_write_tokens":0},"output_tokens":5,)"
      R"("output_tokens_details":{"reasoning_tokens":2},"total_tokens":15},"instructions":"Be brief.",)"
      R"("max_output_tokens":9,"metadata":{"a":"b"},"parallel_tool_calls":true,"temperature":0.7,"top_p":0.95,)"
      R"("top_logprobs":0,"tool_choice":"auto","tools":[{"type":"function","name":"weather","parameters":null}],)"
      R"("text":{"format":{"type":"text"}},"reasoning":{"effort":null,"summary":null},"truncation":"disabled",)"
      R"("store":false,"background":false,"previous_response_id":null})");

  const Json one = body_of(served.texts(openai::responses, with(hi(), "parallel_tool_calls", false))
                               .writer->whole({reply}));
  CHECK(at(one, "output").items().size() == 3);
  const Json empty = body_of(served.texts(openai::responses, hi()).writer->whole({reply_of("")}));
  CHECK(at(empty, "output") == Json::array());

  // The answer can be sent back as it came.
  Json input = json(R"([{"role": "user", "content": "Hi"}])");
  const Json output = at(body_of(http), "output");
  for (const Json& item : output.items()) input.push(item);
  for (const int call : {2, 3}) {
    Json result = json(R"({"type": "function_call_output", "output": "Sunny"})");
    input.push(result.set("call_id", at(output, call, "call_id")));
  }
  const service::Request again =
      served.request(openai::responses, with(hi(), "input", std::move(input)));
  REQUIRE(again.messages.size() == 4);
  CHECK(again.messages[1].content == "Sure.");
  CHECK(at(again.messages[1].fields, "reasoning_content") == Json("Hm"));
  CHECK(at(again.messages[1].fields, "tool_calls", 0, "id").string().size() == 9);
  CHECK(at(again.messages[1].fields, "tool_calls", 1, "id") ==
        at(again.messages[3].fields, "tool_call_id"));
}

TEST_CASE("a response that is cut off is incomplete and says why, with its last item") {
  Talks served;
  const auto check = [&](engine::StopReason stop, std::string_view status, const Json& reason) {
    service::Reply reply = reply_of("Sure.", stop);
    reply.parsed.reasoning = "Hm";
    const Read read = streamed(served.texts(openai::responses, streams()),
                               {{3, "Hm", Kind::kReasoning}, {3, "Sure."}}, reply);
    CHECK(read.last == "response." + std::string(status));
    const Json whole = body_of(served.texts(openai::responses, hi()).writer->whole({reply}));
    for (const Json& response : {read.response, whole}) {
      CHECK(at(response, "status") == Json(status));
      CHECK(at(response, "output", 0, "status") == Json("completed"));
      CHECK(at(response, "output", 1, "status") == Json(status));
      CHECK(at(response, "completed_at").is_null() == (status == "incomplete"));
      CHECK(at(response, "incomplete_details") ==
            (status == "incomplete" ? Json::object().set("reason", reason) : Json()));
    }
    // Thinking alone is cut off too; calls never are.
    reply.text.clear();
    const Json thought = body_of(served.texts(openai::responses, hi()).writer->whole({reply}));
    CHECK(at(thought, "output", 0, "status") == Json(status));
    const Read call =
        streamed(served.texts(openai::responses, streams()),
                 {{3, "go", Kind::kCallBegin, 0}, {3, "{}", Kind::kArguments, 0}}, reply);
    CHECK(at(call.items[0], "status") == Json("completed"));
  };
  using engine::StopReason;
  check(StopReason::kEnd, "completed", Json());
  check(StopReason::kStopped, "completed", Json());
  check(StopReason::kLength, "incomplete", "max_output_tokens");
  check(StopReason::kContext, "incomplete", "max_output_tokens");
  check(StopReason::kCancelled, "incomplete", Json());
}

TEST_CASE("a stream that fails closes its item and says what happened") {
  Talks served;
  for (const auto& [code, name] : {std::pair{base::ErrorCode::kDeviceLost, "server_error"},
                                   {base::ErrorCode::kInvalidArgument, "invalid_prompt"}}) {
    const Texts texts = served.texts(openai::responses, streams());
    std::string frames = texts.writer->begin();
    frames += texts.writer->next(0, {3, "Su"});
    frames += texts.writer->fail({code, "Gone.", {}});
    const Read read = Reader().read(frames);
    CHECK(read.last == "response.failed");
    CHECK(at(read.response, "error") == Json::object().set("code", name).set("message", "Gone."));
    REQUIRE(read.items.size() == 1);
    CHECK(at(read.items[0], "status") == Json("incomplete"));
    CHECK(at(read.response, "completed_at").is_null());
  }
}

TEST_CASE("tokens of the text have their probabilities, and no others") {
  Talks served;
  const auto token = [](int32_t id, std::string text, Kind kind) {
    return service::Event{.token = id,
                          .text = std::move(text),
                          .kind = kind,
                          .logprob = -0.5f,
                          .top = {{id, -0.5f}, {3, -1.0f}}};
  };
  // A mark, thinking, its mark; text, text that waits for more, more; a mark, a call, its mark.
  const std::vector<service::Event> events = {
      token(5, "", Kind::kContent),     token(8, "a", Kind::kReasoning),
      token(5, "", Kind::kContent),     token(2, "Sure.", Kind::kContent),
      token(8, "", Kind::kContent),     token(2, "aSure.", Kind::kContent),
      token(5, "", Kind::kContent),     token(4, "go", Kind::kCallBegin),
      token(6, "{}", Kind::kArguments), token(5, "", Kind::kContent)};
  service::Reply reply = reply_of("Sure.aSure.");
  reply.parsed.reasoning = "a";
  reply.parsed.tool_calls = {{"", "go", "{}"}};
  reply.parts = {Part::kReasoning, Part::kReasoning, Part::kReasoning, Part::kContent,
                 Part::kContent,   Part::kContent,   Part::kCall,      Part::kCall,
                 Part::kCall,      Part::kCall};
  for (const service::Event& event : events) reply.chosen.push_back(*chosen_of(event));
  const Read read =
      streamed(served.texts(openai::responses, streams(R"({"top_logprobs": 1})")), events, reply);
  const Json whole = body_of(
      served.texts(openai::responses, with(hi(), "top_logprobs", 1)).writer->whole({reply}));
  CHECK(at(whole, "top_logprobs") == Json(1));
  for (const Json& output : {Json(read.items), at(whole, "output")}) {
    const Json& logprobs = at(output, 1, "content", 0, "logprobs");
    REQUIRE(logprobs.items().size() == 3);
    CHECK(at(logprobs, 0).dump() ==
          R"({"id":2,"token":"Sure.","bytes":[83,117,114,101,46],"logprob":-0.5,"top_logprobs":)"
          R"([{"id":2,"token":"Sure.","bytes":[83,117,114,101,46],"logprob":-0.5}]})");
    CHECK(at(logprobs, 1, "token") == Json("a"));
    CHECK(at(logprobs, 2) == at(logprobs, 0));
  }
}

TEST_CASE("the tokens of a response's input are counted, also beyond the context") {
  Talks served;
  const auto count = [&](std::string text) {
    return served.reply(openai::response_input_tokens, with(hi(), "input", std::move(text))).dump();
  };
  CHECK(count("aaa") == R"({"object":"response.input_tokens","input_tokens":4})");
  CHECK(count(std::string(100, 'a')) == R"({"object":"response.input_tokens","input_tokens":101})");
}

TEST_CASE(
    "a response tells how far its input is read, and its timings so far, where it is asked to") {
  Talks served;
  for (const bool asked : {false, true}) {
    Json body = json(R"({"input": "Hi", "stream": true})");
    if (asked) body.set("return_progress", true).set("timings_per_token", true);
    const Texts texts = served.texts(openai::responses, body);
    Writer& writer = *texts.writer;
    const std::string begun = writer.begin();
    const std::string progress = writer.next(0, prompt_event(7));
    CHECK(progress.empty() != asked);
    if (asked) {
      const Json event = frames_of(progress)[0].data;
      CHECK(at(event, "type") == Json("response.in_progress"));
      CHECK(at(event, "response", "status") == Json("in_progress"));
      CHECK(at(event, "prompt_progress").dump() ==
            R"({"total":10,"cache":4,"processed":7,"time_ms":73})");
    }
    const Json piece = frames_of(writer.next(0, token_event(3, "Hi", 1, 100))).back().data;
    CHECK(at(piece, "type") == Json("response.output_text.delta"));
    const Json last = frames_of(writer.end(0, reply_of("Hi"))).back().data;
    CHECK(at(last, "type") == Json("response.completed"));
    CHECK((piece.find("timings") != nullptr) == asked);
    CHECK((last.find("timings") != nullptr) == asked);
  }
}
