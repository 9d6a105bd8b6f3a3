// SocketFolder: a folder for Unix sockets that nobody else may look into. It goes with its process;
// one that was killed leaves it to the next that makes one, which knows by its lock that nobody has
// it any more.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"

namespace puna::manager {

class SocketFolder {
 public:
  // In $XDG_RUNTIME_DIR, else in $TMPDIR or /tmp. Errors: kIo; also where its name is too long for
  // an address.
  static base::Result<std::unique_ptr<SocketFolder>> make();
  static base::Result<std::unique_ptr<SocketFolder>> make_in(const std::string& parent);
  ~SocketFolder();
  SocketFolder(const SocketFolder&) = delete;
  SocketFolder& operator=(const SocketFolder&) = delete;

  const std::string& path() const { return path_; }

 private:
  SocketFolder(std::string path, int lock) : path_(std::move(path)), lock_(lock) {}

  const std::string path_;
  const int lock_;
};

}  // namespace puna::manager
