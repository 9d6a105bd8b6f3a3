#include "cli/output.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <system_error>

#include "cli/word_wrap.h"

namespace puna::cli {

void open_closed_streams() {
  // The wrong way around, so that reading and writing fail as they do on a closed descriptor.
  constexpr int kModes[] = {O_WRONLY, O_RDONLY, O_RDONLY};
  for (int fd = 0; fd < 3; ++fd) {
    if (fcntl(fd, F_GETFD) >= 0) continue;
    // The lowest free number is taken, which is this one.
    if (open("/dev/null", kModes[fd]) != fd) std::_Exit(1);
  }
}

void write_raw(std::FILE* to, std::string_view text) {
  [[maybe_unused]] const size_t written = std::fwrite(text.data(), 1, text.size(), to);
}

void print_error(std::string_view text) {
  const std::string line = fmt::format("error: {}\n", base::printable(text, base::Keep::kLines));
  write_raw(stderr, wrapped(stderr, line));
}

void print_json(const base::Json& json) {
  print_out("{}\n", base::printable(json.dump(1), base::Keep::kLines));
}

void write_text(std::FILE* to, std::string_view text) {
  if (isatty(fileno(to)) != 0) {
    write_raw(to, base::printable(text, base::Keep::kText));
  } else {
    write_raw(to, text);
  }
}

base::Result<void> results_written() {
  const bool flushed = std::fflush(stdout) == 0;
  const std::string why = flushed ? "" : ": " + std::generic_category().message(errno);
  if (flushed && std::ferror(stdout) == 0) return {};
  return base::fail(base::ErrorCode::kIo,
                    fmt::format("Writing to standard output fails, and results are lost{}.", why));
}

}  // namespace puna::cli
