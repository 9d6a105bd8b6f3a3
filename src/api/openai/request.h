// Bodies of OpenAI's chat completions and text completions as requests. What Puna cannot do is
// refused by name; what no dialect defines is passed over with a line in the log.
// Source: OpenAI API reference, "Chat" and "Completions"; llama.cpp's server for what it adds.
#pragma once

#include <string>

#include "base/json.h"
#include "base/result.h"
#include "service/request.h"

namespace puna::api::openai {

struct Completion {
  service::Request request;
  std::string model;           // as the client calls it; empty when not given
  bool stream = false;         // the answer comes in chunks
  bool include_usage = false;  // stream_options.include_usage
  bool return_tokens = false;  // of text completions: chunks have the token ids
};

// {messages, model, temperature, top_p, top_k, min_p, seed, max_tokens | max_completion_tokens,
//  stop, presence_penalty, frequency_penalty, repeat_penalty, repeat_last_n, logit_bias,
//  ignore_eos, tools, tool_choice (auto, none), reasoning_effort,
//  chat_template_kwargs.enable_thinking, stream, stream_options}.
// Without a seed one is drawn. Errors: kInvalidArgument naming the field and what stands there;
// kUnsupported for fields whose effect Puna cannot give.
base::Result<Completion> parse_chat(const base::Json& body);

// The same with prompt, a text or token ids, in place of messages, tools and thinking, and
// return_tokens.
base::Result<Completion> parse_completion(const base::Json& body);

// {input: a text, texts or token ids, model}: the texts or ids of each. Errors: as parse_chat.
struct Embeddings {
  std::vector<std::string> texts;
  std::vector<std::vector<int32_t>> tokens;  // used where there are no texts
  std::string model;
};
base::Result<Embeddings> parse_embeddings(const base::Json& body);

}  // namespace puna::api::openai
