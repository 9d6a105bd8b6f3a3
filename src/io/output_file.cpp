#include "io/output_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <climits>
#include <optional>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include "io/new_file.h"

namespace puna::io {

namespace {

using base::ErrorCode;
using base::Result;
using Kind = OutputPlace::Kind;

constexpr int kMaxLinks = 40;  // as Linux follows
// The shell that starts a FIFO's reader beside its writer may be a little later.
constexpr std::chrono::milliseconds kReaderWait{5000};
constexpr std::chrono::milliseconds kReaderLook{20};
// Names have at most 255 bytes; the rest is for what makes the part's own.
constexpr size_t kPartNameBytes = 200;

std::string reason(int error = errno) { return std::generic_category().message(error); }

std::unexpected<base::Error> usage(const std::string& path, std::string_view problem) {
  return base::fail(ErrorCode::kUsage, fmt::format("\"{}\" {}.", path, problem));
}

std::unexpected<base::Error> cannot_write(const std::string& path, int error = errno) {
  return base::fail(ErrorCode::kIo,
                    fmt::format("\"{}\" cannot be written: {}.", path, reason(error)));
}

// The folder of a path with its slash; empty for the working folder.
std::string folder_of(const std::string& path) { return path.substr(0, path.rfind('/') + 1); }

// Names that stand for descriptors of this process.
std::optional<int> descriptor_named(std::string_view path) {
  for (const std::string_view folder : {"/dev/fd/", "/proc/self/fd/"}) {
    if (!path.starts_with(folder)) continue;
    const std::string_view number = path.substr(folder.size());
    int fd = 0;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), fd);
    if (error == std::errc() && end == number.data() + number.size() && fd >= 0) return fd;
  }
  return std::nullopt;
}

bool is_same(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

// Follows symbolic links to their end, a name that need not exist; sets the descriptor where they
// lead to one.
Result<void> follow_links(OutputPlace& place) {
  for (int n = 0; n < kMaxLinks; ++n) {
    if (const auto fd = descriptor_named(place.path)) {
      place.kind = Kind::kDescriptor;
      place.descriptor = *fd;
      return {};
    }
    struct stat status = {};
    if (::lstat(place.path.c_str(), &status) != 0 || !S_ISLNK(status.st_mode)) return {};
    char target[PATH_MAX];
    const ssize_t n_bytes = ::readlink(place.path.c_str(), target, sizeof(target));
    if (n_bytes < 0) return cannot_write(place.name);
    const std::string next(target, static_cast<size_t>(n_bytes));
    place.path = next.starts_with('/') ? next : folder_of(place.path) + next;
  }
  return cannot_write(place.name, ELOOP);
}

Result<void> check_inputs(const OutputPlace& place, const struct stat& output,
                          std::span<const std::string> inputs) {
  for (const std::string& input : inputs) {
    struct stat status = {};
    if (::stat(input.c_str(), &status) != 0 || !is_same(status, output)) continue;
    return base::fail(
        ErrorCode::kUsage,
        fmt::format("Writing \"{}\" would destroy the input \"{}\"; give another name.", place.name,
                    input));
  }
  return {};
}

// A name under which nothing is yet.
Result<void> check_new(const OutputPlace& place) {
  const std::string folder = folder_of(place.path);
  if (folder.size() == place.path.size())
    return usage(place.name, "ends as a folder does; give the name of a file to write");
  struct stat status = {};
  if (::stat(folder.empty() ? "." : folder.c_str(), &status) == 0) return {};
  if (errno != ENOENT) return cannot_write(place.name);
  return base::fail(ErrorCode::kIo, fmt::format("\"{}\" cannot be written: the folder \"{}\" does "
                                                "not exist.",
                                                place.name, folder));
}

// What is there already: told by its kind, in `place` and by errors.
Result<void> check_existing(OutputPlace& place, const struct stat& status) {
  const mode_t mode = status.st_mode;
  if (S_ISDIR(mode)) return usage(place.name, "is a folder; give a file to write");
  if (S_ISBLK(mode)) return usage(place.name, "is a disk, which is not overwritten; give a file");
  if (place.kind == Kind::kDescriptor) return {};
  if (S_ISSOCK(mode)) return usage(place.name, "is a socket; give a file to write");
  if (!S_ISREG(mode)) {
    place.kind = Kind::kStream;
    return {};
  }
  struct stat named = {};
  if (::lstat(place.path.c_str(), &named) != 0 || !is_same(named, status))
    return usage(place.name, "leads to a file that has no name any more; give a file to write");
  if (::access(place.path.c_str(), W_OK) != 0) return cannot_write(place.name);
  return {};
}

Result<void> write_all(int fd, const std::string& name, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t put = ::write(fd, bytes.data(), std::min<size_t>(bytes.size(), size_t{1} << 30));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return cannot_write(name);
    bytes = bytes.subspan(static_cast<size_t>(put));
  }
  return {};
}

class StreamSink final : public ByteSink {
 public:
  StreamSink(std::string name, int fd) : name_(std::move(name)), fd_(fd) {}
  StreamSink(const StreamSink&) = delete;
  StreamSink& operator=(const StreamSink&) = delete;
  ~StreamSink() override {
    if (fd_ >= 0) ::close(fd_);
  }

  Result<void> write(std::span<const std::byte> bytes) override {
    return write_all(fd_, name_, bytes);
  }
  Result<void> finish() override {
    if (::close(std::exchange(fd_, -1)) != 0) return cannot_write(name_);
    return {};
  }

 private:
  std::string name_;
  int fd_;
};

class FileSink final : public ByteSink {
 public:
  FileSink(OutputPlace place, std::string part, int fd)
      : place_(std::move(place)), part_(std::move(part)), fd_(fd) {}
  FileSink(const FileSink&) = delete;
  FileSink& operator=(const FileSink&) = delete;
  ~FileSink() override {
    if (fd_ >= 0) ::close(fd_);
    if (!finished_) ::unlink(part_.c_str());
  }

  Result<void> write(std::span<const std::byte> bytes) override {
    return write_all(fd_, place_.name, bytes);
  }
  Result<void> finish() override {
    if (::close(std::exchange(fd_, -1)) != 0) return cannot_write(place_.name);
    if (::rename(part_.c_str(), place_.path.c_str()) != 0) return cannot_write(place_.name);
    finished_ = true;
    return {};
  }

 private:
  OutputPlace place_;
  std::string part_;
  int fd_;
  bool finished_ = false;
};

// Owner and permissions of the file that is replaced, as far as this process may set them.
void keep_permissions(int fd, const std::string& path) {
  struct stat status = {};
  if (::stat(path.c_str(), &status) != 0) return;
  [[maybe_unused]] const int owned = ::fchown(fd, status.st_uid, status.st_gid);
  [[maybe_unused]] const int set = ::fchmod(fd, status.st_mode & 0777);
}

Result<std::unique_ptr<ByteSink>> open_part(const OutputPlace& place) {
  const std::string folder = folder_of(place.path);
  const std::string stem = folder + place.path.substr(folder.size(), kPartNameBytes);
  auto part = open_new_file(
      [&](int n) {
        return n == 0 ? fmt::format("{}.{}.part", stem, ::getpid())
                      : fmt::format("{}.{}-{}.part", stem, ::getpid(), n);
      },
      0666);
  if (!part) return cannot_write(place.name, part.error());
  keep_permissions(part->fd, place.path);
  return std::make_unique<FileSink>(place, std::move(part->path), part->fd);
}

Result<int> open_stream(const OutputPlace& place) {
  // Without O_NONBLOCK a FIFO that nobody reads would hold the process for ever.
  const int flags = O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
  struct stat status = {};
  const bool is_fifo = ::stat(place.path.c_str(), &status) == 0 && S_ISFIFO(status.st_mode);
  int fd = ::open(place.path.c_str(), flags);
  for (auto waited = kReaderLook; fd < 0 && errno == ENXIO && is_fifo && waited < kReaderWait;
       waited += kReaderLook) {
    std::this_thread::sleep_for(kReaderLook);
    fd = ::open(place.path.c_str(), flags);
  }
  if (fd < 0 && errno == ENXIO && is_fifo) {
    return base::fail(ErrorCode::kIo,
                      fmt::format("Nobody reads from \"{}\"; start its reader first.", place.name));
  }
  if (fd < 0) return cannot_write(place.name);
  if (::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) & ~O_NONBLOCK) != 0) {
    const int error = errno;
    ::close(fd);
    return cannot_write(place.name, error);
  }
  return fd;
}

}  // namespace

Result<OutputPlace> find_output(const std::string& path, std::span<const std::string> inputs) {
  OutputPlace place;
  place.name = place.path = path;
  if (path.empty()) return base::fail(ErrorCode::kUsage, "The name of the file to write is empty.");
  PUNA_TRY(follow_links(place));
  struct stat status = {};
  const bool is_descriptor = place.kind == Kind::kDescriptor;
  if ((is_descriptor ? ::fstat(place.descriptor, &status) : ::stat(path.c_str(), &status)) != 0) {
    if (is_descriptor || errno != ENOENT) return cannot_write(path);
    PUNA_TRY(check_new(place));
    return place;
  }
  PUNA_TRY(check_inputs(place, status, inputs));
  PUNA_TRY(check_existing(place, status));
  struct stat standard = {};
  place.is_stdout = ::fstat(STDOUT_FILENO, &standard) == 0 && is_same(status, standard);
  return place;
}

Result<std::unique_ptr<ByteSink>> open_output(const OutputPlace& place) {
  if (place.kind == Kind::kFile) return open_part(place);
  int fd = -1;
  if (place.kind == Kind::kDescriptor) {
    fd = ::fcntl(place.descriptor, F_DUPFD_CLOEXEC, 0);
    if (fd < 0) return cannot_write(place.name);
  } else {
    PUNA_TRY(fd, open_stream(place));
  }
  auto sink = std::make_unique<StreamSink>(place.name, fd);
  if (::isatty(fd) != 0)
    return usage(place.name, "is a terminal, which cannot show a file; give a file to write");
  return sink;
}

}  // namespace puna::io
