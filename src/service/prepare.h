// What is done for a request before the engine has it: the template is rendered, once, and the text
// becomes tokens. All const: any thread may prepare requests while others are answered.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "chat/parsers.h"
#include "service/model.h"
#include "service/request.h"

namespace puna::service {

struct Prepared {
  Request request;                              // without its messages, prompt and media
  engine::Prompt prompt;                        // what it begins with
  const chat::ReplyStyle* style = nullptr;      // how the answer is to be read; null: as it is
  bool thinking_open = false;                   // the prompt has begun the thinking already
  std::shared_ptr<engine::TokenFilter> filter;  // what its tokens have to pass; null: nothing
};

// Errors: kInvalidArgument (tools that are no list, what a template refuses, media beside ids or
// that a template leaves out, a last message that cannot be continued, and what
// engine::Engine::check_prompt() and check_sampling() refuse), kUnsupported (messages for a model
// without a template, thinking for one without that switch, tools for one that is shown none, texts
// for one without a vocabulary).
base::Result<Prepared> prepare(const LoadedModel& model, Request request);

// The tokens that a request begins with, also where they are more than the context has room for;
// those of media are below zero. Errors: as above.
base::Result<std::vector<int32_t>> prompt_tokens(const LoadedModel& model, const Request& request);

// The text that the template makes of the messages of a request. Errors: as above.
base::Result<std::string> render_prompt(const LoadedModel& model, const Request& request);

// What the model answered, as the message that the next request begins with: with its tool calls,
// and its thinking in the member that the model's template knows, which leaves out of the prompt
// what is not to be read again.
chat::Message assistant_message(const LoadedModel& model, const Reply& reply);

}  // namespace puna::service
