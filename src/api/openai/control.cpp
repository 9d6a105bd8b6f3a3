#include "api/openai/control.h"

#include <fmt/format.h>

#include <algorithm>

namespace puna::api::openai {

using base::Json;
using base::Result;
using service::ThinkingControl;

namespace {

using Kind = Field::Kind;
using Phase = ThinkingControl::Phase;

constexpr Field kControlFields[] = {
    {"model", Kind::kText, "A name of the model; none: the one that is served."},
    Field{"id", Kind::kText, "Of a chat completion with reasoning_control, from its chunks."}
        .needed(),
    Field{"action", Kind::kText, "Its thinking ends with the next token."}.needed().one_of(
        "reasoning_end"),
};

// Empty: it is done.
std::string_view end_thinking(ThinkingControl& control) {
  const Phase phase = control.phase;
  switch (phase) {
    case Phase::kNever:
      return "The model does not think, or does not show where it ends.";
    case Phase::kAnswering:
      return "The completion is not thinking: it writes its answer.";
    case Phase::kNotBegun:
    case Phase::kThinking:
      break;
  }
  control.end = true;
  return {};
}

}  // namespace

std::span<const Field> control_fields() { return kControlFields; }

Result<Exchange> control_chat(const Call& call) {
  PUNA_TRY(const Body body, Body::read(call.body, {kControlFields}));
  for (const char* name : {"id", "action"}) {
    if (!body.has(name)) return refuse_field(name, Json(), "a text");
  }
  const std::string id = *body.text("id");
  std::string message;
  bool success = false;
  const Running::Controls controls = call.model->running->find(id);
  if (controls.empty()) {
    message = fmt::format(
        "No completion \"{}\" is under way whose thinking can be ended: it has ended, never was, "
        "or was asked for without reasoning_control.",
        id);
  }
  for (const auto& control : controls) {
    const std::string_view refusal = end_thinking(*control);
    success = success || refusal.empty();
    if (message.empty()) message = refusal;
  }
  Json out = Json::object().set("success", success);
  if (!success) out.set("message", message);
  return HttpReply::json(out);
}

}  // namespace puna::api::openai
