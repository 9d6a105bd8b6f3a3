#include "api/anthropic/request.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "api/answer_fields.h"
#include "api/answer_form.h"
#include "api/anthropic/conversation.h"
#include "api/sampling.h"
#include "api/tool_choice.h"
#include "chat/parsers.h"

namespace puna::api::anthropic {

using base::ErrorCode;
using base::Json;
using base::Result;
using service::Think;

namespace {

using Kind = Field::Kind;

constexpr Field kTool[] = {
    Field{"type", Kind::kText, "There is one."}.one_of("custom").or_else("\"custom\""),
    Field{"name", Kind::kText, "What the model calls it by."}.needed(),
    {"description", Kind::kText, "What it does."},
    Field{"input_schema", Kind::kObject, "JSON schema of its arguments."}.needed(),
    Field{"eager_input_streaming", Kind::kFlag,
          "Arguments come while they are written, before it is known that they are valid."}
        .or_else("false"),
    Field{"strict", Kind::kFlag, "Arguments have no members but those that the schema names."}
        .or_else("false"),
    refused("defer_loading", "the model sees all tools.", "false"),
    passed_over("input_examples", "Templates show schemas only."),
    passed_over("allowed_callers", "The model calls."),
    passed_over("cache_control", "What is known of a prompt is never evaluated again."),
};
constexpr Field kToolChoice[] = {
    Field{"type", Kind::kText,
          "auto: the model may call. any: it calls at least once. tool: it calls the tool of the "
          "name, once. none: there are no tools."}
        .needed()
        .one_of("auto|none|any|tool"),
    {"name", Kind::kText, "Of the tool to be called."},
    Field{"disable_parallel_tool_use", Kind::kFlag, "The answer ends behind its first call."}
        .or_else("false"),
};
constexpr Field kThinking[] = {
    Field{"type", Kind::kText, "adaptive: as the model does."}.needed().one_of(
        "enabled|disabled|adaptive"),
    Field{"budget_tokens", Kind::kInteger,
          "Tokens of thinking at most, behind which it is ended, unless it is disabled.", 1,
          UINT32_MAX},
    passed_over("display", "Thinking is shown as it is."),
};
constexpr Field kFormat[] = {
    Field{"type", Kind::kText, "The answer is JSON of the schema."}.needed().one_of("json_schema"),
    Field{"schema", Kind::kObject, "The schema."}.needed(),
    {"name", Kind::kText, "What it is called; nobody here asks."},
};
constexpr Field kOutputConfig[] = {
    Field{"effort", Kind::kText, "How much the model thinks, where it knows levels."}.one_of(
        "low|medium|high|xhigh|max"),
    Field{"format", Kind::kObject, "What the answer is."}.with(
        [] { return std::span<const Field>(kFormat); }),
    passed_over("task_budget", "max_tokens bounds the answer."),
};

constexpr Field kRequestFields[] = {
    {"model", Kind::kText, "A name of the model; none: the one that is served."},
    Field{"messages", Kind::kList, "The conversation: {role, content}, content a text or blocks."}
        .needed()
        .shaped(
            R"(["+", {"role": "=user|assistant", "content": ["string", [{
                 "type": "=text|image|document|thinking|redacted_thinking|tool_use|tool_result"}]]}])"),
    Field{"system", Kind::kAny, "A text, or blocks of text."}.shaped(
        R"(["string", [{"type": "=text", "text": "string"}]])"),
    Field{"max_tokens", Kind::kInteger, "Tokens of thinking and answer at most.", 0, UINT32_MAX}
        .needed(),
    Field{"stream", Kind::kFlag, "The answer comes in pieces, as it is written."}.or_else("false"),
    {"stop_sequences", Kind::kTexts, "The answer ends before the first of these."},
    Field{"temperature", Kind::kNumber, "How freely tokens are drawn; 0 = greedy.", 0, 1},
    Field{"tools", Kind::kList, "What the model may call."}.with(
        [] { return std::span<const Field>(kTool); }),
    Field{"tool_choice", Kind::kObject, "Whether the model may call."}.with(
        [] { return std::span<const Field>(kToolChoice); }),
    Field{"thinking", Kind::kObject, "Whether the model thinks."}.with(
        [] { return std::span<const Field>(kThinking); }),
    Field{"output_config", Kind::kObject, "How much the model thinks, and what the answer is."}
        .with([] { return std::span<const Field>(kOutputConfig); }),
    Field{"output_format", Kind::kObject, "The same as output_config.format."}.with(
        [] { return std::span<const Field>(kFormat); }),
    refused("mcp_servers", "this server calls no others.", "[]"),
    refused("n_probs", "this dialect has no place for probabilities.", "0"),
    passed_over("metadata", "Who asks."),
    passed_over("cache_control", "What is known of a prompt is never evaluated again."),
    passed_over("service_tier", "There is one."),
    passed_over("inference_geo", "The model runs here."),
    passed_over("container", "There is none."),
    passed_over("context_management", "The client has the conversation."),
};
// Of a body that is only counted.
constexpr Field kCounted[] = {
    {"max_tokens", Kind::kInteger, "Need not be there: nothing is written.", 0, UINT32_MAX},
};

// A tool as OpenAI's dialect and chat templates have it.
Result<Json> read_tool(const Json& json, bool& eager) {
  if (!json.is_object()) return refuse_field("tools", json, "a list of objects");
  const Json* type = json.find("type");
  if (type && type->is_string() && *type != Json("custom")) {
    return cannot("tools", fmt::format("tools of the type \"{}\" are not here; the client's own "
                                       "(\"custom\") are possible",
                                       type->string()));
  }
  PUNA_TRY(const Body body, Body::read(json, {kTool}));
  Json function = Json::object();
  const auto name = body.text("name");
  if (!name || name->empty()) return refuse_field("name", name ? Json(*name) : Json(), "a name");
  function.set("name", *name);
  if (auto description = body.text("description"))
    function.set("description", *std::move(description));
  const Json* schema = body.find("input_schema");
  if (!schema) return refuse_field("input_schema", Json(), "an object");
  function.set("parameters", *schema);
  if (body.flag("strict").value_or(false)) function.set("strict", true);
  eager |= body.flag("eager_input_streaming").value_or(false);
  return Json::object().set("type", "function").set("function", std::move(function));
}

// Whether and which tools the model calls.
Result<ToolUse> read_choice(const Body& body) {
  ToolUse out;
  const Json* choice = body.find("tool_choice");
  if (!choice) return out;
  PUNA_TRY(const Body inner, Body::read(*choice, {kToolChoice}));
  const auto type = inner.text("type");
  if (!type) return refuse_field("type", Json(), "auto, none, any or tool");
  out.may_call = type != "none";
  out.choice.required = type == "any" || type == "tool";
  out.choice.one_call = type == "tool" || inner.flag("disable_parallel_tool_use").value_or(false);
  const auto name = inner.text("name");
  if (type == "tool" && name.value_or("").empty())
    return refuse_field("name", name ? Json(*name) : Json(), "the name of a tool");
  if (type == "tool") out.choice.names.push_back(*name);
  return out;
}

Result<void> read_tools(const Body& body, service::Request& request) {
  PUNA_TRY(const ToolUse use, read_choice(body));
  request.tool_choice = use.choice;
  const Json* list = body.find("tools");
  const Json none = Json::array();
  Json tools = Json::array();
  for (const Json& each : (list ? *list : none).items()) {
    PUNA_TRY_CONTEXT(Json tool, read_tool(each, request.stream_arguments),
                     fmt::format("While reading tool {}", tools.items().size()));
    tools.push(std::move(tool));
  }
  PUNA_TRY(check_names(use.choice, tools));
  if (use.may_call && !tools.items().empty()) request.tools = std::move(tools);
  return {};
}

// How much the model thinks where it may; kDefault: the request does not say.
Result<Think> read_effort(const Body& body) {
  const Json* config = body.find("output_config");
  if (!config) return Think::kDefault;
  PUNA_TRY(const Body inner, Body::read(*config, {kOutputConfig}));
  const auto effort = inner.text("effort");
  if (!effort) return Think::kDefault;
  constexpr std::pair<std::string_view, Think> kEfforts[] = {{"low", Think::kLow},
                                                             {"medium", Think::kMedium},
                                                             {"high", Think::kHigh},
                                                             {"xhigh", Think::kHigh},
                                                             {"max", Think::kHigh}};
  return std::ranges::find(kEfforts, *effort, &std::pair<std::string_view, Think>::first)->second;
}

// Whether and how much the model thinks. `budget`: the tokens of it, where they are bounded.
Result<Think> read_thinking(const Body& body, const service::LoadedModel& model,
                            const chat::ReplyStyle& style, std::optional<uint32_t>& budget) {
  // An effort is of the answer as a whole, so that it says nothing where there are no levels.
  PUNA_TRY(Think effort, read_effort(body));
  if (!model.abilities.thinking_levels) effort = Think::kDefault;
  const Think not_said = effort != Think::kDefault ? effort : model.defaults.request.think;
  const Json* thinking = body.find("thinking");
  if (!thinking) return not_said;
  PUNA_TRY(const Body inner, Body::read(*thinking, {kThinking}));
  const auto type = inner.text("type");
  if (const auto most = inner.integer("budget_tokens"); most && type != "disabled")
    budget = static_cast<uint32_t>(*most);
  if (type == "adaptive") return not_said;
  if (type == "disabled") return model.abilities.thinking ? Think::kOff : Think::kDefault;
  if (!type) return refuse_field("type", Json(), "enabled, disabled or adaptive");
  if (effort != Think::kDefault) return effort;
  if (model.abilities.thinking) return Think::kOn;
  // Without a switch a model that thinks always does.
  if (!style.thinking.empty()) return Think::kDefault;
  return cannot("thinking", fmt::format("the model {} does not think", model.name));
}

// The form of the answer, which two fields may say, the older one being output_format.
Result<std::optional<service::AnswerForm>> read_output_format(const Body& body) {
  const Json* config = body.find("output_config");
  const Json* format = config ? config->find("format") : nullptr;
  if (format && format->is_null()) format = nullptr;
  const Json* older = body.find("output_format");
  if (format && older) {
    return base::fail(ErrorCode::kInvalidArgument,
                      "The fields \"output_format\" and \"output_config\" both say what the answer "
                      "is; one of them may.");
  }
  if (!format) format = older;
  if (!format) return std::nullopt;
  PUNA_TRY(const Body inner, Body::read(*format, {kFormat}));
  const auto type = inner.text("type");
  if (!type) return refuse_field("type", Json(), "json_schema");
  const Json* schema = inner.find("schema");
  if (!schema) return refuse_field("schema", Json(), "an object");
  return of_schema(*schema, /*strict=*/false);
}

Result<service::Request> read_prompt(const Body& body, const service::LoadedModel& model) {
  PUNA_TRY(const chat::Template* chat_template, service::template_of(model));
  const chat::ReplyStyle& style = chat::reply_style(chat_template->source());
  service::Request out = model.defaults.request;
  PUNA_TRY(Conversation read,
           read_conversation(body.find("system"), body.find("messages"), style.reasoning_member));
  out.messages = std::move(read.messages);
  out.media = std::move(read.media);
  const chat::Message& last = out.messages.back();
  if (last.role == "assistant") {
    if (last.fields.find("tool_calls")) {
      return base::fail(ErrorCode::kInvalidArgument,
                        "The last of the \"messages\" calls tools; their results have to follow.");
    }
    out.continue_last = model.defaults.continues_last;
  }
  PUNA_TRY(read_tools(body, out));
  PUNA_TRY(out.think, read_thinking(body, model, style, out.max_thinking));
  PUNA_TRY(auto form, read_output_format(body));
  if (form) out.form = std::move(form);
  return out;
}

}  // namespace

std::span<const Field> counted_fields() { return kCounted; }
std::span<const Field> message_fields() { return kRequestFields; }

Result<MessageRequest> read_message_request(const Json& json, const service::LoadedModel& model) {
  PUNA_TRY(const Body body, Body::read(json, {kRequestFields, sampling_fields()}));
  if (model.engine->options().embeddings) {
    return base::fail(
        ErrorCode::kUnsupported,
        fmt::format("The model {} was loaded for embeddings; it gives no text.", model.name));
  }
  const auto max_tokens = body.integer("max_tokens");
  if (!max_tokens) return refuse_field("max_tokens", Json(), "a whole number from 0 on");
  MessageRequest out;
  PUNA_TRY(out.request, read_prompt(body, model));
  out.request.max_tokens = static_cast<uint32_t>(*max_tokens);
  PUNA_TRY(out.request.stop, read_stops("stop_sequences", body, model));
  PUNA_TRY(out.request.sampling, read_sampling(body, model));
  out.stream = body.flag("stream").value_or(false);
  return out;
}

Result<service::Request> read_counted_request(const Json& json, const service::LoadedModel& model) {
  PUNA_TRY(const Body body, Body::read(json, {kCounted, kRequestFields, sampling_fields()}));
  return read_prompt(body, model);
}

}  // namespace puna::api::anthropic
