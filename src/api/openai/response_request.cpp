#include "api/openai/response_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "api/answer_form.h"
#include "api/openai/chat_request.h"
#include "api/openai/response_input.h"
#include "api/sampling.h"
#include "api/tool_choice.h"

namespace puna::api::openai {

using base::ErrorCode;
using base::Json;
using base::Result;

namespace {

using Kind = Field::Kind;

constexpr std::string_view kNotStored = "nothing is stored; the input has the whole conversation.";
constexpr uint32_t kMostTop = 20;  // as OpenAI has it

constexpr Field kTool[] = {
    Field{"type", Kind::kText, "There is one."}.needed().one_of("function"),
    Field{"name", Kind::kText, "What the model calls it by."}.needed(),
    {"description", Kind::kText, "What it does."},
    {"parameters", Kind::kObject, "JSON schema of its arguments."},
    Field{"strict", Kind::kFlag, "Arguments have no members but those that the schema names."}
        .or_else("false"),
    refused("defer_loading", "the model sees all tools.", "false"),
    refused("async", "the model waits for outputs.", "false"),
    passed_over("output_schema", "Templates show the arguments only."),
    passed_over("allowed_callers", "The model calls."),
};
constexpr Field kReasoning[] = {
    Field{"effort", Kind::kText, "How much the model thinks."}.one_of(
        "none|minimal|low|medium|high|xhigh|max"),
    refused("mode", "a model thinks in one way.", "\"standard\""),
    passed_over("summary", "Thinking comes as it is."),
    passed_over("generate_summary", "Thinking comes as it is."),
    passed_over("context", "Templates say which thinking is read again."),
};
constexpr Field kText[] = {
    Field{"format", Kind::kObject,
          "What the answer is: text, any JSON object, or JSON of a schema."}
        .with(format_fields),
    passed_over("verbosity", "There is no such switch in templates."),
};

std::span<const Field> tool_fields() { return kTool; }
std::span<const Field> reasoning_fields() { return kReasoning; }
std::span<const Field> text_fields() { return kText; }

constexpr std::string_view kLogprobs = "message.output_text.logprobs";
// Of items that there are none of; and of thinking, which comes as it is.
constexpr std::string_view kIncluded[] = {
    kLogprobs,
    "reasoning.encrypted_content",
    "file_search_call.results",
    "web_search_call.results",
    "web_search_call.action.sources",
    "message.input_image.image_url",
    "computer_call_output.output.image_url",
    "code_interpreter_call.outputs",
};

constexpr Field kResponseRequestFields[] = {
    Field{"input", Kind::kAny,
          "A text of the user, or items: messages, function_call, function_call_output, "
          "reasoning."}
        .needed()
        .shaped(R"(["string", ["+", [
          {"type?": ["=message", "null"], "role": "=user|system|developer",
           "content": ["string", ["+", "#ResponsePart"]]},
          {"type?": ["=message", "null"], "role": "=assistant",
           "content": ["string", ["#ResponsePart"]]},
          {"type": "=function_call", "call_id": "string", "name": "string",
           "arguments": "string"},
          {"type": "=function_call_output", "call_id": "string",
           "output": ["string", ["#ResponsePart"]]},
          {"type": "=reasoning",
           "content?": [[{"type": "=reasoning_text", "text": "string"}], "null"],
           "summary?": [[{"type": "=summary_text", "text": "string"}], "null"]}]]])"),
    {"instructions", Kind::kText, "A text of the system before all."},
    Field{"max_output_tokens", Kind::kInteger,
          "Tokens of thinking and answer at most; -1: as many as the context has room for.", -1,
          UINT32_MAX}
        .or_else("-1"),
    Field{"tools", Kind::kList,
          "What the model may call: {type: \"function\", name, parameters, …}."}
        .with(tool_fields)
        .or_else("[]"),
    Field{"reasoning", Kind::kObject, "How much the model thinks."}.with(reasoning_fields),
    Field{"text", Kind::kObject, "What the answer is."}.with(text_fields),
    Field{"include", Kind::kTexts, "message.output_text.logprobs: texts have probabilities."}
        .or_else("[]")
        .shaped(R"([["#ResponseIncluded"], "#ResponseIncluded"])"),
    Field{"top_logprobs", Kind::kInteger,
          "Texts have probabilities, of so many of the most probable tokens too.", 0, kMostTop}
        .or_else("0"),
    Field{"chat_template_kwargs", Kind::kObject, "Variables of the template, enable_thinking too."}
        .or_else("{}"),
    Field{"metadata", Kind::kObject, "Texts that the answer has again."}.or_else("{}").shaped(
        R"({"*": "string"})"),
    refused("previous_response_id", kNotStored),
    refused("conversation", kNotStored),
    refused("prompt", "there are no stored prompts."),
    refused("background", "an answer lives as long as its request.", "false"),
    refused("background_options", "an answer lives as long as its request.", "{}"),
    refused("truncation", "no input is cut; \"disabled\" is possible.", "\"disabled\""),
    refused("context_management", "the client has the conversation.", "[]"),
    refused("moderation", "nothing is judged."),
    refused("n", "a response is one answer.", "1"),
    refused("n_cmpl", "a response is one answer.", "1"),
    passed_over("stream_options", "Chunks are as long as they are."),
    passed_over("max_tool_calls", "Of tools that servers run; there are none here."),
    passed_over("prompt_cache_options", "What is known of a prompt is never evaluated again."),
    passed_over("image", "There are none."),
    passed_over("verbose", "A response has what OpenAI says."),
    passed_over("access_programs", "There are none."),
};

// A tool as chat templates have it.
Result<Json> read_tool(const Json& json) {
  if (!json.is_object()) return refuse_field("tools", json, "a list of objects");
  const Json* type = json.find("type");
  if (!type || !type->is_string())
    return refuse_field("type", type ? *type : Json(), "\"function\"");
  if (*type != Json("function")) {
    return cannot("tools", fmt::format("there is no tool of the type \"{}\"; functions of the "
                                       "client's are possible",
                                       type->string()));
  }
  PUNA_TRY(const Body body, Body::read(json, {kTool}));
  const auto name = body.text("name");
  if (!name || name->empty()) return refuse_field("name", name ? Json(*name) : Json(), "a name");
  Json function = Json::object();
  function.set("name", *name);
  for (const char* key : {"description", "parameters"}) {
    if (const Json* value = body.find(key)) function.set(key, *value);
  }
  if (body.flag("strict").value_or(false)) function.set("strict", true);
  return Json::object().set("type", "function").set("function", std::move(function));
}

Result<void> read_tools(const Body& body, service::Request& request) {
  PUNA_TRY(const ToolUse use, read_tool_choice(body));
  request.tool_choice = use.choice;
  const Json* list = body.find("tools");
  const Json none = Json::array();
  Json tools = Json::array();
  for (const Json& each : (list ? *list : none).items()) {
    PUNA_TRY_CONTEXT(Json tool, read_tool(each),
                     fmt::format("While reading tool {}", tools.items().size()));
    tools.push(std::move(tool));
  }
  PUNA_TRY(check_names(use.choice, tools));
  if (use.may_call && !tools.items().empty()) request.tools = std::move(tools);
  return {};
}

// The effort as the answer says it again: null where there is none.
Result<Json> read_reasoning(const Body& body, service::Request& request) {
  PUNA_TRY(read_variables(body, request));
  const Json* reasoning = body.find("reasoning");
  if (!reasoning) return Json();
  PUNA_TRY(const Body inner, Body::read(*reasoning, {kReasoning}));
  const auto effort = inner.text("effort");
  if (!effort) return Json();
  PUNA_TRY(request.think, read_effort("effort", *effort));
  return Json(*effort);
}

Result<void> read_logprobs(const Body& body, ResponseRequest& out) {
  bool asked = false;
  for (const std::string& each : body.texts("include")) {
    if (std::ranges::find(kIncluded, each) == std::end(kIncluded))
      return refuse_field("include", each, fmt::format("one of {}", fmt::join(kIncluded, ", ")));
    asked |= each == kLogprobs;
  }
  const auto top = static_cast<uint32_t>(body.integer("top_logprobs").value_or(0));
  uint32_t& n_probs = out.answer.request.sampling.n_probs;
  if (asked || top > 0) {
    out.form.top_logprobs = top;
    // The token itself comes with the first that are asked for.
    n_probs = std::max(1u, top);
  } else if (n_probs > 0) {
    out.form.top_logprobs = n_probs;
  }
  return {};
}

Result<Json> read_metadata(const Body& body) {
  const Json* metadata = body.find("metadata");
  if (!metadata) return Json::object();
  for (const auto& [name, value] : metadata->members()) {
    if (!value.is_string()) return refuse_field("metadata." + name, value, "a text");
  }
  return *metadata;
}

// A field as it came.
Json said(const Body& body, std::string_view name, const Json& otherwise) {
  const Json* value = body.find(name);
  return value ? *value : otherwise;
}

Result<Json> settings_of(const Body& body, const ResponseRequest& read, Json effort) {
  const service::Request& request = read.answer.request;
  const Json sampling = sampling_json(request.sampling);
  Json out = Json::object();
  out.set("instructions", said(body, "instructions", Json()));
  out.set("max_output_tokens", request.max_tokens ? Json(*request.max_tokens) : Json());
  PUNA_TRY(Json metadata, read_metadata(body));
  out.set("metadata", std::move(metadata)).set("parallel_tool_calls", !read.form.one_call);
  out.set("temperature", *sampling.find("temperature")).set("top_p", *sampling.find("top_p"));
  out.set("top_logprobs", read.form.top_logprobs.value_or(0));
  out.set("tool_choice", said(body, "tool_choice", "auto"));
  out.set("tools", said(body, "tools", Json::array()));
  const Json* text = body.find("text");
  const Json* format = text ? text->find("format") : nullptr;
  const Json free = Json::object().set("type", "text");
  out.set("text", Json::object().set("format", format && format->is_object() ? *format : free));
  out.set("reasoning", Json::object().set("effort", std::move(effort)).set("summary", nullptr));
  out.set("truncation", "disabled").set("store", false).set("background", false);
  return out.set("previous_response_id", nullptr);
}

}  // namespace

std::span<const Field> response_fields() { return kResponseRequestFields; }

Result<ResponseRequest> read_response_request(const Json& json, const service::LoadedModel& model) {
  PUNA_TRY(const Body body, Body::read(json, {kResponseRequestFields, tool_choice_fields(),
                                              answer_fields(), sampling_fields()}));
  ResponseRequest out;
  PUNA_TRY(out.answer, read_answer_fields(body, model));
  out.form.reports = out.answer.reports;
  service::Request& request = out.answer.request;
  if (const auto most = body.integer("max_output_tokens")) {
    request.max_tokens = model.defaults.request.max_tokens;
    if (*most >= 0) request.max_tokens = static_cast<uint32_t>(*most);
  }
  PUNA_TRY(Conversation read, read_response_input(body.text("instructions"), body.find("input"),
                                                  template_names(model)));
  request.messages = std::move(read.messages);
  request.media = std::move(read.media);
  const chat::Message& last = request.messages.back();
  if (last.role == "assistant") {
    if (last.fields.find("tool_calls")) {
      return base::fail(
          ErrorCode::kInvalidArgument,
          "The \"input\" ends with a function_call; its function_call_output has to follow.");
    }
    request.continue_last = true;
  }
  PUNA_TRY(read_tools(body, request));
  PUNA_TRY(Json effort, read_reasoning(body, request));
  if (const Json* text = body.find("text")) {
    PUNA_TRY(const Body inner, Body::read(*text, {kText}));
    if (const Json* format = inner.find("format")) {
      PUNA_TRY(auto form, read_format("format", *format));
      if (form) request.form = std::move(form);
    }
  }
  PUNA_TRY(read_logprobs(body, out));
  out.form.one_call = request.tool_choice.one_call;
  // A text that was first sent as a call would come without its probabilities.
  request.stream_arguments = out.answer.stream && !out.form.top_logprobs;
  PUNA_TRY(out.form.settings, settings_of(body, out, std::move(effort)));
  return out;
}

}  // namespace puna::api::openai
