#include "cli/chat/loop.h"

#include <utility>

#include "cli/chat/commands.h"
#include "cli/chat/dragged.h"
#include "cli/line_reader.h"
#include "cli/output.h"
#include "cli/terminal.h"

namespace puna::cli {
namespace {

constexpr std::string_view kQuotes = "\"\"\"";

// A message, or a command. """ may also stand behind a command, as in /set system """.
std::optional<std::string> read_message(LineReader& reader) {
  std::optional<std::string> first = reader.line(">>> ");
  if (!first) return first;
  const size_t quotes = first->starts_with('/') ? first->find(kQuotes) : 0;
  if (quotes == std::string::npos || !std::string_view(*first).substr(quotes).starts_with(kQuotes))
    return first;
  const std::string before = first->substr(0, quotes);
  std::string text = first->substr(quotes + kQuotes.size());
  while (!text.ends_with(kQuotes)) {
    const auto next = reader.line("... ");
    if (!next) return std::nullopt;
    text += "\n" + *next;
  }
  return before + text.substr(0, text.size() - kQuotes.size());
}

}  // namespace

base::Result<int> chat_loop(ChatModel& model, ChatOptions options) {
  PUNA_TRY(model.check(options.settings));
  keep_running();
  LineReader reader;
  Chat chat(model, reader, std::move(options));
  while (!terminated()) {
    interrupted() = false;
    const std::optional<std::string> input = read_message(reader);
    if (!input) print_out("\n");
    if (!input && !interrupted()) return 0;
    if (!input && !terminated()) print_out("Ctrl-D or /bye ends the chat.\n");
    if (!input || input->find_first_not_of(" \t\n") == std::string::npos) continue;
    if (!input->starts_with("/") || begins_with_media(*input)) {
      chat.say(*input);
    } else if (!obey(chat, *input)) {
      return 0;
    }
    if (!model.usable()) return 1;  // an error has said why
  }
  return kInterruptedExit;
}

}  // namespace puna::cli
