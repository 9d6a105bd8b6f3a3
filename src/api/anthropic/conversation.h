// The system text and the messages of Anthropic's dialect, which are lists of content blocks, as
// messages that chat templates read. Source: Anthropic API reference, "Create a Message".
#pragma once

#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "chat/messages.h"
#include "service/media_prompt.h"

namespace puna::api::anthropic {

// `system` (may be null) is a text or blocks of text; `messages` are {role: "user" | "assistant",
// content: a text or blocks}. Blocks of text, and messages of one role behind each other, become
// one text with a line feed between them. Of a user, text, image, document (of text) and
// tool_result are read: a result is a message of the role "tool", with text and images. Of the
// assistant, text, tool_use, and thinking, which goes into `reasoning_member`; redacted_thinking
// holds nothing that could be read. Errors: kInvalidArgument naming the field; kUnsupported naming
// the type of a block that cannot be read; both with the number of the message, from 0.
struct Conversation {
  std::vector<chat::Message> messages;
  std::vector<service::PlacedMedia> media;  // pictures in them
};
base::Result<Conversation> read_conversation(const base::Json* system, const base::Json* messages,
                                             std::string_view reasoning_member);

}  // namespace puna::api::anthropic
