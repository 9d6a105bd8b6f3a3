// Reads what is typed, message by message: a line, or all lines between two """.
#pragma once

#include "base/result.h"
#include "cli/chat/chat.h"

namespace puna::cli {

// Returns the exit code. Errors: where the model cannot meet the settings that the chat begins
// with.
base::Result<int> chat_loop(ChatModel& model, ChatOptions options);

}  // namespace puna::cli
