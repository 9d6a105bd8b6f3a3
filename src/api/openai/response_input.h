// The instructions and the input of OpenAI's Responses, which is a list of items, as messages that
// chat templates read. Source: OpenAI API reference, "Responses".
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "api/openai/chat_request.h"
#include "base/json.h"
#include "base/result.h"
#include "chat/messages.h"

namespace puna::api::openai {

struct Conversation {
  std::vector<chat::Message> messages;
  std::vector<service::PlacedMedia> media;  // pictures and sounds in them
};

// `input` (may be null) is a text of the user or a list of items: messages, function_call,
// function_call_output, reasoning; contents are texts, pictures (input_image) and sounds
// (input_audio). What the assistant thought, said and called without others between is one message.
// The instructions, and messages of the system that come right behind them, are one message before
// all. Ids of calls lose the "call_" that clients see before short ones. Errors: kInvalidArgument
// naming the field, also for an output whose call is not before it; kUnsupported naming the type of
// an item or a part that cannot be read; both with the number of the item, from 0.
base::Result<Conversation> read_response_input(const std::optional<std::string>& instructions,
                                               const base::Json* input, const TemplateNames& names);

}  // namespace puna::api::openai
