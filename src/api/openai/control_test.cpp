#include "api/openai/control.h"

#include "api/openai/chat.h"
#include "api/testing/talks.h"

using namespace puna;
using namespace puna::api;
using namespace puna::api::test;
using base::Json;
using Phase = service::ThinkingControl::Phase;

namespace {

const Json kChat = *Json::parse(
    R"({"messages": [{"role": "user", "content": "a"}], "stream": true, "reasoning_control": true})");

std::string id_of(Texts& texts) {
  return at(chunks_of(texts.writer->begin()).front(), "id").string();
}
Json end_of(const std::string& id) {
  return Json::object().set("id", id).set("action", "reasoning_end");
}

}  // namespace

TEST_CASE("the thinking of a completion is ended by its id") {
  Talks at;
  Texts texts = at.texts(openai::chat_completions, kChat);
  service::ThinkingControl& control = *texts.requests.front().thinking_control;
  const Json body = end_of(id_of(texts));
  control.phase = Phase::kThinking;
  CHECK(at.reply(openai::control_chat, body).dump() == R"({"success":true})");
  CHECK(control.end);
  // Who asks twice is told the same.
  CHECK(at.reply(openai::control_chat, body).dump() == R"({"success":true})");
}

TEST_CASE("of several answers those that think are ended") {
  Talks at;
  Texts texts = at.texts(openai::chat_completions, with(kChat, "n", 2));
  REQUIRE(texts.requests.size() == 2);
  service::ThinkingControl& answers = *texts.requests[0].thinking_control;
  service::ThinkingControl& thinks = *texts.requests[1].thinking_control;
  answers.phase = Phase::kAnswering;
  thinks.phase = Phase::kThinking;
  CHECK(at.reply(openai::control_chat, end_of(id_of(texts))).dump() == R"({"success":true})");
  CHECK_FALSE(answers.end);
  CHECK(thinks.end);
}

TEST_CASE("what cannot be ended is told of") {
  Talks at;
  const auto refusal = [&](const std::string& id) {
    const Json reply = at.reply(openai::control_chat, end_of(id));
    CHECK(*reply.find("success") == Json(false));
    return reply.find("message")->string();
  };
  const auto says = [&](const std::string& id, std::string_view part) {
    const std::string message = refusal(id);
    CHECK_MESSAGE(message.find(part) != std::string::npos, message);
  };
  says("chatcmpl-1", "No completion \"chatcmpl-1\"");
  Texts texts = at.texts(openai::chat_completions, kChat);
  const std::string id = id_of(texts);
  says(id, "does not think");
  texts.requests.front().thinking_control->phase = Phase::kAnswering;
  says(id, "writes its answer");
  texts.writer->finish();
  says(id, "No completion");
  Texts uncontrolled = at.texts(openai::chat_completions, with(kChat, "reasoning_control", false));
  CHECK(uncontrolled.requests.front().thinking_control == nullptr);
  says(id_of(uncontrolled), "reasoning_control");
  std::string dropped;
  {
    Texts gone = at.texts(openai::chat_completions, kChat);
    dropped = id_of(gone);
  }
  says(dropped, "No completion");
}

TEST_CASE("the fields of a control are checked") {
  Talks at;
  const Json body = end_of("x");
  check_fields(at, openai::control_chat, body, {openai::control_fields()});
  for (const char* text : {R"({"id": "x"})", R"({"action": "reasoning_end"})", "{}",
                           R"({"id": "x", "action": "stop"})"}) {
    CHECK(at.error(openai::control_chat, json(text)).code == base::ErrorCode::kInvalidArgument);
  }
}
