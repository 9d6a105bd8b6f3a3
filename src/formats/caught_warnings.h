// For tests: while one lives, warnings are kept instead of printed.
#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include "base/log.h"

namespace puna::formats {

class CaughtWarnings {
 public:
  CaughtWarnings() {
    base::set_log_sink([this](base::LogLevel, std::string_view text) { lines.emplace_back(text); },
                       base::LogLevel::kWarning);
  }
  ~CaughtWarnings() {
    base::set_log_sink(
        [](base::LogLevel, std::string_view text) {
          std::fprintf(stderr, "%.*s\n", static_cast<int>(text.size()), text.data());
        },
        base::LogLevel::kWarning);
  }
  CaughtWarnings(const CaughtWarnings&) = delete;
  CaughtWarnings& operator=(const CaughtWarnings&) = delete;

  std::vector<std::string> lines;
};

}  // namespace puna::formats
