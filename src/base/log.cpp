#include "base/log.h"

#include <atomic>
#include <cstdio>
#include <mutex>

#include "base/printable.h"

namespace puna::base {
namespace {

struct State {
  std::mutex mutex;  // of the sink
  LogSink sink = log_to_stderr;
  std::atomic<LogLevel> lowest = LogLevel::kWarning;
};

State& state() {
  static State s;
  return s;
}

}  // namespace

void log_to_stderr(LogLevel, std::string_view text) {
  std::fprintf(stderr, "%s\n", printable(text, Keep::kLines).c_str());
}
void set_log_sink(LogSink sink, LogLevel lowest) {
  const std::lock_guard lock(state().mutex);
  state().sink = std::move(sink);
  state().lowest = lowest;
}
bool log_enabled(LogLevel level) { return level >= state().lowest; }
void log(LogLevel level, std::string_view text) {
  if (!log_enabled(level)) return;
  const std::lock_guard lock(state().mutex);
  state().sink(level, text);
}

}  // namespace puna::base
