#include "base/log.h"

#include <cstdio>

namespace puna::base {
namespace {

struct State {
  LogSink sink = [](LogLevel, std::string_view text) {
    std::fprintf(stderr, "%.*s\n", static_cast<int>(text.size()), text.data());
  };
  LogLevel lowest = LogLevel::kWarning;
};

State& state() {
  static State s;
  return s;
}

}  // namespace

void set_log_sink(LogSink sink, LogLevel lowest) { state() = {std::move(sink), lowest}; }
bool log_enabled(LogLevel level) { return level >= state().lowest; }
void log(LogLevel level, std::string_view text) {
  if (log_enabled(level)) state().sink(level, text);
}

}  // namespace puna::base
