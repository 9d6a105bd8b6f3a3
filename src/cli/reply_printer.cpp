#include "cli/reply_printer.h"

#include <cstdio>

#include "cli/output.h"
#include "cli/terminal.h"

namespace puna::cli {

void ReplyPrinter::show(const service::Event& event) {
  const bool thinks = event.kind == service::Event::Kind::kReasoning;
  if (event.text.empty() || (thinks && hides_thinking_)) return;
  if (!thinks) end_thinking();
  if (thinks && !thinking_) {
    thinking_ = true;
    std::fputs(stderr_is_terminal() ? "\x1b[90mThinking...\n" : "Thinking...\n", stderr);
  }
  std::FILE* to = thinks ? stderr : stdout;
  write_text(to, event.text);
  std::fflush(to);
}

void ReplyPrinter::end_thinking() {
  if (!thinking_) return;
  thinking_ = false;
  std::fputs(stderr_is_terminal() ? "\n...done thinking.\x1b[0m\n\n" : "\n...done thinking.\n\n",
             stderr);
  std::fflush(stderr);
}

}  // namespace puna::cli
