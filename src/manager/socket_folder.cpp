#include "manager/socket_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace puna::manager {

using base::ErrorCode;
using base::Result;
namespace fs = std::filesystem;

namespace {

constexpr std::string_view kPrefix = "puna-models-";
constexpr const char* kLock = "/lock";
// Of the names of sockets in it: "/4294967295.sock".
constexpr size_t kLongestName = 16;

// A descriptor that has the lock; below 0: somebody else has it, or there is none.
int lock_of(const std::string& folder) {
  const int file = ::open((folder + kLock).c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW);
  if (file >= 0 && ::flock(file, LOCK_EX | LOCK_NB) == 0) return file;
  if (file >= 0) ::close(file);
  return -1;
}

// Those of this user that were left behind.
void sweep(const std::string& parent) {
  std::error_code error;
  for (fs::directory_iterator each(parent, error), end; !error && each != end;
       each.increment(error)) {
    const std::string path = each->path().string();
    struct stat about{};
    if (!each->path().filename().string().starts_with(kPrefix)) continue;
    if (::lstat(path.c_str(), &about) != 0 || !S_ISDIR(about.st_mode) ||
        about.st_uid != ::geteuid())
      continue;
    const int lock = lock_of(path);
    if (lock < 0) continue;
    std::error_code ignored;
    fs::remove_all(path, ignored);
    ::close(lock);
  }
}

}  // namespace

Result<std::unique_ptr<SocketFolder>> SocketFolder::make() {
  for (const char* name : {"XDG_RUNTIME_DIR", "TMPDIR"}) {
    const char* parent = std::getenv(name);
    if (!parent || !*parent) continue;
    if (auto made = make_in(parent)) return made;
  }
  return make_in("/tmp");
}

Result<std::unique_ptr<SocketFolder>> SocketFolder::make_in(const std::string& parent) {
  sweep(parent);
  std::string path = fmt::format("{}/{}XXXXXX", parent, kPrefix);
  if (path.size() + kLongestName >= sizeof(sockaddr_un{}.sun_path)) {
    return base::fail(
        ErrorCode::kIo,
        fmt::format("The folder {} has a name that is too long for sockets.", parent));
  }
  const auto refused = [&] {
    return base::fail(ErrorCode::kIo, fmt::format("No folder for sockets can be made in {}: {}.",
                                                  parent, std::generic_category().message(errno)));
  };
  if (!::mkdtemp(path.data())) return refused();
  const int lock =
      ::open((path + kLock).c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (lock < 0 || ::flock(lock, LOCK_EX | LOCK_NB) != 0) return refused();
  return std::unique_ptr<SocketFolder>(new SocketFolder(std::move(path), lock));
}

SocketFolder::~SocketFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
  ::close(lock_);
}

}  // namespace puna::manager
