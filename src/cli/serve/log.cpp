// Where the log of a server goes, and in which form.
#include "base/log.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>

#include "base/printable.h"
#include "cli/serve/flags.h"

namespace puna::cli {

using base::LogLevel;

namespace {

std::string line_of(const ServeFlags::Log& log, LogLevel level, std::string_view text) {
  std::string out;
  if (log.timestamps) {
    const auto now =
        std::chrono::floor<std::chrono::milliseconds>(std::chrono::system_clock::now());
    out += fmt::format("{:%Y-%m-%dT%H:%M:%S}Z ", now);
  }
  if (log.prefix) {
    const char* letters[] = {"D ", "I ", "W "};
    out += letters[static_cast<size_t>(level)];
  }
  return out + base::printable(text, base::Keep::kLines);
}

// With the colour of its level, for a terminal.
std::string colored(LogLevel level, const std::string& line) {
  constexpr std::string_view kColors[] = {"\033[2m", "", "\033[33m"};
  const std::string_view color = kColors[static_cast<size_t>(level)];
  return color.empty() ? line : fmt::format("{}{}\033[0m", color, line);
}

bool has_colors(const ServeFlags::Log& log) {
  using Colors = ServeFlags::Log::Colors;
  if (log.colors != Colors::kAuto) return log.colors == Colors::kOn;
  return isatty(STDERR_FILENO) != 0 && std::getenv("NO_COLOR") == nullptr;
}

}  // namespace

base::Result<void> open_log(const ServeFlags::Log& log) {
  constexpr int kWarnings = 2, kInfo = 3;
  // Errors are printed and not logged.
  if (log.disabled || log.verbosity < kWarnings) {
    base::set_log_sink([](LogLevel, std::string_view) {}, LogLevel::kWarning);
    return {};
  }
  LogLevel lowest = LogLevel::kDebug;
  if (log.verbosity <= kInfo) lowest = LogLevel::kInfo;
  if (log.verbosity <= kWarnings) lowest = LogLevel::kWarning;
  std::shared_ptr<std::ofstream> file;
  if (!log.file.empty()) {
    file = std::make_shared<std::ofstream>(log.file, std::ios::app);
    if (!*file) {
      return base::fail(base::ErrorCode::kIo,
                        fmt::format("The log \"{}\" cannot be written.", log.file));
    }
  }
  base::set_log_sink(
      [log, file, colors = has_colors(log)](LogLevel level, std::string_view text) {
        const std::string line = line_of(log, level, text);
        if (colors) {
          std::fprintf(stderr, "%s\n", colored(level, line).c_str());
        } else {
          base::log_to_stderr(level, line);
        }
        if (file) *file << line << std::endl;
      },
      lowest);
  return {};
}

}  // namespace puna::cli
