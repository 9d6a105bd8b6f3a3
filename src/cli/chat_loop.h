// A chat on the terminal: lines by line_reader.h, multi-line input between """ marks, a few /
// commands.
#pragma once

#include <functional>
#include <string>

#include "service/host_thread.h"

namespace puna::cli {

struct ChatSettings {
  service::Request request;  // sampling and limits; messages are filled in
  std::string system;
  bool hides_thinking = false;
  bool raw = false;  // each line is completed as plain text, after what came before
  std::function<void(const engine::GenerateStats&)> on_stats;
};

// Returns the exit code. An answer that fails is reported and the chat goes on. Errors:
// kUnsupported where the request asks for a way of thinking that the model's template has no switch
// for.
base::Result<int> chat_loop(service::HostThread& host, const ChatSettings& settings);

}  // namespace puna::cli
