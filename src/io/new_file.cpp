#include "io/new_file.h"

#include <fcntl.h>

#include <cerrno>
#include <utility>

namespace puna::io {

std::expected<NewFile, int> open_new_file(const std::function<std::string(int n)>& path_of,
                                          mode_t mode) {
  // Each name that is taken is a file that is there, so that this ends.
  for (int n = 0;; ++n) {
    std::string path = path_of(n);
    const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (fd >= 0) return NewFile{std::move(path), fd};
    if (errno != EEXIST) return std::unexpected(errno);
  }
}

}  // namespace puna::io
