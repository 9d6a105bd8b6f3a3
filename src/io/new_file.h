// Opening a file that was not there before.
#pragma once

#include <sys/types.h>

#include <expected>
#include <functional>
#include <string>

namespace puna::io {

struct NewFile {
  std::string path;
  int fd = -1;  // whoever asked closes it
};

// Opens the first of path_of(0), path_of(1), ... under which nothing is, for writing. Never what is
// there: it may be someone's, also of a process of the same number in another container, or a link
// that leads elsewhere. Errors: the errno of the system call.
std::expected<NewFile, int> open_new_file(const std::function<std::string(int n)>& path_of,
                                          mode_t mode);

}  // namespace puna::io
