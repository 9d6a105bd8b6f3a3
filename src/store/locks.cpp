#include "store/locks.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>
#include <chrono>
#include <thread>

namespace puna::store {
namespace {

using base::Result;

constexpr std::chrono::milliseconds kPoll{100};

}  // namespace

Result<std::optional<FileLock>> FileLock::try_take(const std::string& path) {
  while (true) {
    Fd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
    if (!fd) return std::unexpected(system_error("write", path, errno));
    if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
      if (errno == EWOULDBLOCK) return std::optional<FileLock>();
      return std::unexpected(system_error("lock", path, errno));
    }
    // The holder before us may have removed the file between our open and our lock: then the name
    // is another file now.
    struct stat locked{}, named{};
    if (::fstat(fd.get(), &locked) != 0 || ::stat(path.c_str(), &named) != 0 ||
        locked.st_ino != named.st_ino)
      continue;
    return std::optional<FileLock>(FileLock(std::move(fd), path));
  }
}

Result<FileLock> FileLock::take(const std::string& path,
                                const std::function<Result<void>()>& waiting) {
  while (true) {
    PUNA_TRY(std::optional<FileLock> lock, try_take(path));
    if (lock) return *std::move(lock);
    PUNA_TRY(waiting());
    std::this_thread::sleep_for(kPoll);
  }
}

FileLock::~FileLock() {
  if (fd_) remove_file(path_);
}

}  // namespace puna::store
