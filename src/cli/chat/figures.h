// What is printed of how long an answer took.
#pragma once

#include <string>

#include "cli/chat/chat_model.h"

namespace puna::cli {

// As Ollama prints them, a line a figure, on stderr. Figures that are not known are left out.
void print_figures(const Figures& figures);

// One line of key=value on stderr.
void print_stats(const ChatModel& model, const Figures& figures, double load_ms);

}  // namespace puna::cli
