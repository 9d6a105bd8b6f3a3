#include "grammar/limits.h"

#include <fmt/format.h>

#include <ctime>

#include "base/utf8.h"

namespace puna::grammar {

int64_t Deadline::thread_us() {
  // A page has no clock of a thread.
  timespec time{};
  if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time) != 0) clock_gettime(CLOCK_MONOTONIC, &time);
  return int64_t{time.tv_sec} * 1'000'000 + time.tv_nsec / 1000;
}

base::Result<void> Deadline::check() const {
  if (over()) return over_limit("Compiling the grammar takes", ms_, "compile_ms");
  return {};
}

std::unexpected<base::Error> error_at(std::string_view text, size_t at, std::string_view what,
                                      base::ErrorCode code) {
  uint32_t line = 1;
  size_t line_begin = 0;
  for (size_t i = 0; i < at; ++i) {
    if (text[i] == '\n') {
      ++line;
      line_begin = i + 1;
    }
  }
  uint32_t column = 1;
  for (size_t i = line_begin; i < at; i += base::utf8_next(text, i).bytes) ++column;
  return base::fail(code, fmt::format("Line {}, column {}: {}", line, column, what));
}

std::unexpected<base::Error> over_limit(std::string_view what, uint64_t most,
                                        std::string_view limit) {
  return base::fail(base::ErrorCode::kInvalidArgument,
                    fmt::format("{} more than {}, which is the limit {}.", what, most, limit));
}

}  // namespace puna::grammar
