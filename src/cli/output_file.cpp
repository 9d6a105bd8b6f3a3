#include "cli/output_file.h"

#include <csignal>

namespace puna::cli {

base::Result<std::unique_ptr<io::ByteSink>> create_output(const io::OutputPlace& place) {
  std::signal(SIGPIPE, SIG_IGN);
  return io::open_output(place);
}

}  // namespace puna::cli
