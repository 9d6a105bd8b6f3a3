// The log sink: library rooms say things here and never print. Text goes to stderr unless a program
// sets another sink. Any thread may log: the sink has one line at a time, as a whole.
#pragma once

#include <fmt/format.h>

#include <functional>
#include <string>
#include <string_view>
#include <utility>

namespace puna::base {

enum class LogLevel { kDebug, kInfo, kWarning };

using LogSink = std::function<void(LogLevel, std::string_view)>;

// The sink at the start: a line on stderr, safe for terminals.
void log_to_stderr(LogLevel level, std::string_view text);
// Replaces the sink and the lowest level that reaches it. A sink logs nothing itself.
void set_log_sink(LogSink sink, LogLevel lowest);
bool log_enabled(LogLevel level);
void log(LogLevel level, std::string_view text);

template <class... Args>
void log_debug(fmt::format_string<Args...> format, Args&&... args) {
  if (log_enabled(LogLevel::kDebug))
    log(LogLevel::kDebug, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
void log_info(fmt::format_string<Args...> format, Args&&... args) {
  if (log_enabled(LogLevel::kInfo))
    log(LogLevel::kInfo, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
void log_warning(fmt::format_string<Args...> format, Args&&... args) {
  if (log_enabled(LogLevel::kWarning))
    log(LogLevel::kWarning, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace puna::base
