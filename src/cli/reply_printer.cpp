#include "cli/reply_printer.h"

#include <cstdio>

#include "cli/output.h"
#include "cli/terminal.h"

namespace puna::cli {
namespace {

void write(std::FILE* to, std::string_view text) {
  if (text.empty()) return;
  write_text(to, text);
  std::fflush(to);
}

}  // namespace

ReplyPrinter::ReplyPrinter(Options options)
    : options_(options),
      answer_(options.wraps ? columns_of(stdout) : 0),
      thoughts_(options.wraps ? columns_of(stderr) : 0) {}

void ReplyPrinter::show(std::string_view text, bool thinking) {
  if (text.empty() || (thinking && options_.hides_thinking)) return;
  if (!thinking) end_thinking();
  if (thinking && !thinking_) {
    thinking_ = true;
    write_raw(stderr, shows_colours(stderr) ? "\x1b[90mThinking...\n" : "Thinking...\n");
  }
  if (thinking) return write(stderr, thoughts_.add(text));
  write(stdout, answer_.add(text));
}

void ReplyPrinter::end() {
  end_thinking();
  write(stdout, answer_.end());
}

void ReplyPrinter::end_thinking() {
  if (!thinking_) return;
  thinking_ = false;
  write(stderr, thoughts_.end());
  write_raw(stderr,
            shows_colours(stderr) ? "\n...done thinking.\x1b[0m\n\n" : "\n...done thinking.\n\n");
  std::fflush(stderr);
}

}  // namespace puna::cli
