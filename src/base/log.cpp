#include "base/log.h"

#include <cstdio>

#include "base/printable.h"

namespace puna::base {
namespace {

struct State {
  LogSink sink = log_to_stderr;
  LogLevel lowest = LogLevel::kWarning;
};

State& state() {
  static State s;
  return s;
}

}  // namespace

void log_to_stderr(LogLevel, std::string_view text) {
  std::fprintf(stderr, "%s\n", printable(text, Keep::kLines).c_str());
}
void set_log_sink(LogSink sink, LogLevel lowest) { state() = {std::move(sink), lowest}; }
bool log_enabled(LogLevel level) { return level >= state().lowest; }
void log(LogLevel level, std::string_view text) {
  if (log_enabled(level)) state().sink(level, text);
}

}  // namespace puna::base
