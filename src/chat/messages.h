// A conversation, and the prompt that a model's template makes of it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "chat/template.h"

namespace puna::chat {

struct Message {
  std::string role{};     // "system", "user", "assistant", "tool" ...
  std::string content{};  // text
  // Further members as the template's family knows them (tool_calls, name, reasoning_content ...);
  // an object, or null for none. A member "content" here (a list of parts, or null) stands in place
  // of `content`.
  base::Json fields{};
};

// The prompt for `messages`. `extra` (an object, or null for none) adds variables: bos_token,
// eos_token, tools, enable_thinking ... As in transformers, `tools` and `documents` are None when
// they are not given; as in llama.cpp, `date_string` is today ("26 Nov 2026") and `datetime` too
// ("Nov 26 2026"), without which templates tell the model of a day long past. Errors: those of
// Template::render; kInvalidArgument when `extra` or `fields` are no objects.
base::Result<std::string> render_chat(const Template& chat_template,
                                      const std::vector<Message>& messages,
                                      bool add_generation_prompt, const base::Json& extra = {},
                                      const Limits& limits = {});

// Nine letters and digits, always the same for a key: an id of a call that every template takes.
std::string short_call_id(std::string_view key);

}  // namespace puna::chat
