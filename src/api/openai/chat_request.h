// The body of a chat completion as a request. What Puna cannot do is refused by name.
// Source: OpenAI API reference, "Chat"; llama.cpp's server for what it adds.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "api/answer_fields.h"
#include "api/fields.h"
#include "base/json.h"
#include "base/result.h"
#include "service/model.h"

namespace puna::api::openai {

// How an answer is written.
struct ChatForm {
  std::optional<uint32_t> top_logprobs;  // none: without probabilities
  bool one_call = false;                 // of several calls the first
  Reports reports;
};
struct Chat {
  AnswerFields answer;  // with the request as a whole
  ChatForm form;
  bool include_usage = false;  // stream_options.include_usage
  bool controlled = false;     // its thinking may be ended from outside
};

// Of the field stream_options.
std::span<const Field> stream_option_fields();
// The rows beside answer_fields() and sampling_fields().
std::span<const Field> chat_fields();

// A last message of the assistant that calls no tool is continued, unless continue_final_message is
// false. Errors: kInvalidArgument naming the field and what stands there; kUnsupported for fields
// whose effect Puna cannot give.
base::Result<Chat> read_chat(const base::Json& body, const service::LoadedModel& model);

// What the model's template calls things that interfaces name otherwise.
struct TemplateNames {
  std::string_view developer = "system";             // the role of a developer's messages
  std::string_view reasoning = "reasoning_content";  // the member of earlier thinking
};
TemplateNames template_names(const service::LoadedModel& model);

// Puts the variables of the field chat_template_kwargs into a request. Errors: kInvalidArgument for
// an enable_thinking that is no flag.
base::Result<void> read_variables(const Body& body, service::Request& request);

constexpr std::string_view kEfforts = "none, minimal, low, medium, high, xhigh or max";
// One of kEfforts. Errors: kInvalidArgument naming the field.
base::Result<service::Think> read_effort(std::string_view field, const std::string& effort);

// What "auto", "none", "deepseek" and "deepseek-legacy" mean; none for other words.
std::optional<service::Thinking> thinking_format(std::string_view name);

// {include_usage} of stream_options. Errors: those of its fields.
base::Result<bool> read_include_usage(const Body& body);

}  // namespace puna::api::openai
